#include "mechanisms/soft/alignatt.h"

#include <algorithm>
#include <limits>

#include "mechanisms/common/joined_rows.h"
#include "mechanisms/description.h"
#include "mechanisms/soft/softmax_context.h"

namespace attnbench::soft {
namespace {

template <class Real>
class AlignAttDecoder final : public Decoder<Real> {
 public:
  AlignAttDecoder(const Config& config, const SequenceInputs<Real>& inputs)
      : f_(config.Option<Index>("f")),
        energy_(MakeEnergy(config, inputs, EnergyRole::kAttention,
                           EnergyUse::kMany)),
        softmax_(config.want_weights),
        sums_(Size(config.dim)) {
    StartOutput();
  }

  void Append(const MatrixView<const Real>& rows) override {
    energy_->Append(rows);
    memory_.Append(rows);
  }
  void Close() override { closed_ = true; }

  StepResult<Real> Step(std::span<const Real> state,
                        std::span<Real> context) override {
    return MakeOutput([&] { energy_->SetState(output_, state); }, context);
  }

  // Projects all states together; then each hypothesis reads on from its own
  // entry, though others have read more.
  void StepBeam(std::span<const Real> states, std::span<Hypothesis> hypotheses,
                std::span<Real> contexts,
                std::span<StepResult<Real>> results) override {
    ATTN_CHECK(closed_);
    energy_->SetStates(std::ssize(hypotheses), states);
    const std::size_t dim = contexts.size() / hypotheses.size();
    for (std::size_t n = 0; n < hypotheses.size(); ++n) {
      const auto place = hypotheses[n].template Get<Place>();
      output_ = place.output;
      read_ = place.read;
      StartOutput();
      results[n] =
          MakeOutput([&] { energy_->UseState(output_, static_cast<Index>(n)); },
                     contexts.subspan(n * dim, dim));
      results[n].weights = {};
      hypotheses[n].Set(Place{output_, read_});
    }
  }

 private:
  // Says where a hypothesis stands.
  struct Place {
    Index output;
    Index read;
  };

  void StartOutput() {
    softmax_.Start(sums_);
    weighed_ = 0;
    aligned_ = 0;
    largest_ = -std::numeric_limits<Real>::infinity();
  }

  // The output cannot be emitted with fewer entries: the largest energy moves
  // on to newer entries only.
  Index Needed() const { return std::max(read_, aligned_ + f_ + 1); }

  template <class UseState>
  StepResult<Real> MakeOutput(const UseState& use_state,
                              std::span<Real> context) {
    const Index length = memory_.all().rows;
    bool state_is_set = false;  // which may take a projection
    while (weighed_ < Needed()) {
      // Entries are weighed when all that are needed have come, so that sums
      // are grouped alike however the memory is cut.
      if (length < Needed() && !closed_) return {.need_memory = true};
      const Index end = std::min(length, Needed());
      if (weighed_ == end) break;
      if (!state_is_set) use_state();
      state_is_set = true;
      Weigh(end);
    }
    read_ = weighed_;
    const std::span<const Real> weights = softmax_.Finish(sums_);
    std::ranges::copy(sums_, context.begin());
    ++output_;
    StartOutput();
    return {.end = read_, .inspected = read_, .weights = weights};
  }

  void Weigh(Index end) {
    const auto align = [this](Index first, std::span<const Real> energies) {
      for (const Real energy : energies) {
        if (energy > largest_) {
          largest_ = energy;
          aligned_ = first;
        }
        ++first;
      }
    };
    softmax_.Extend(*energy_, memory_.all(), weighed_, end, sums_, align);
    weighed_ = end;
  }

  const Index f_;
  std::unique_ptr<Energy<Real>> energy_;
  SoftmaxContext<Real> softmax_;
  JoinedRows<Real> memory_;
  bool closed_ = false;
  Index output_ = 0;   // i
  Index read_ = 0;     // n(i-1)
  Index weighed_ = 0;  // entries of this output so far
  Index aligned_ = 0;  // the one of the largest energy among them
  Real largest_ = 0;   // that energy
  Buffer<Real> sums_;  // the context so far, [d]
};

}  // namespace

std::vector<OptionSpec> PolicyOptions() {
  return {{.name = kPolicyOption,
           .default_value = std::string("offline"),
           .allowed = {"offline", kAlignAtt},
           .help = "when outputs are emitted: with the whole memory, or once "
                   "the largest weight is not among the last f entries read "
                   "(AlignAtt, online)"},
          {.name = "f",
           .default_value = std::int64_t{1},
           .least = 1,
           .policy = kAlignAtt,
           .at_most = "memory_length",
           .help = "last entries read that an output must not attend to most"}};
}

template <class Real>
std::unique_ptr<Decoder<Real>> MakeAlignAttDecoder(
    const Config& config, const SequenceInputs<Real>& inputs) {
  return std::make_unique<AlignAttDecoder<Real>>(config, inputs);
}

template std::unique_ptr<Decoder<float>> MakeAlignAttDecoder(
    const Config&, const SequenceInputs<float>&);
template std::unique_ptr<Decoder<double>> MakeAlignAttDecoder(
    const Config&, const SequenceInputs<double>&);

}  // namespace attnbench::soft
