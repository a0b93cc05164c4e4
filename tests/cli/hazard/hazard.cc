// A mechanism that goes wrong on demand, for tests/cli/hazard_test.py. It is
// the newcomer's under another name; when it makes decoder number HAZARD_AFTER
// of its process (of variant exact), it does what the variable HAZARD says.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "mechanisms/newcomer/newcomer.h"

namespace attnbench::hazard {
namespace {

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void GoWrong() {
  const std::string hazard = Variable("HAZARD");
  if (hazard == "signal") {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would turn it into an exit
    std::raise(SIGSEGV);
  }
  if (hazard == "abort") {
    [[maybe_unused]] const auto ignored = write(2, "it is broken\n", 13);
    std::abort();
  }
  if (hazard == "exit") _exit(3);
  while (hazard == "hang") usleep(1000);
}

template <class Real>
class Hazard final : public Mechanism<Real> {
 public:
  Hazard() {
    about_.name = "hazard";
    about_.modes = {Mode::kDecode};
  }
  const Description& Describe() const override { return about_; }
  std::unique_ptr<Decoder<Real>> MakeDecoder(
      const Config& config, const SequenceInputs<Real>& inputs) const override {
    static int num_decoders = 0;
    const int after = std::atoi(Variable("HAZARD_AFTER").c_str());
    if (config.variant == "exact" && num_decoders++ == after) GoWrong();
    return newcomer_->MakeDecoder(config, inputs);
  }
  Operations Count(const Config& config,
                   const CountedWork& work) const override {
    Operations operations = newcomer_->Count(config, work);
    if (Variable("HAZARD") == "count") operations.flops = getpid();
    return operations;
  }

 private:
  const std::unique_ptr<const Mechanism<Real>> newcomer_ =
      newcomer::MakeMechanism<Real>();
  Description about_ = newcomer_->Describe();
};

}  // namespace

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<Hazard<Real>>();
}
template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::hazard
