#include "mechanisms/published/published.h"

#include <type_traits>

#include "mechanisms/common/joined_rows.h"
#include "mechanisms/published/protocol.h"

namespace attnbench::published {
namespace {

constexpr char kO0[] = "published_O0";
constexpr char kO3[] = "published_O3";

class PublishedDecoder : public Decoder<double> {
 public:
  void Append(const MatrixView<const double>& rows) override {
    rows_.Append(rows);
    const MatrixView<const double>& all = rows_.all();
    memory_ = {all.data, all.rows, all.cols, all.row_stride};
  }
  void Close() override { closed_ = true; }

 protected:
  JoinedRows<double> rows_;
  Entries memory_{};  // the same
  bool closed_ = false;
};

class PublishedSoft final : public PublishedDecoder {
 public:
  explicit PublishedSoft(SoftStep step) : step_(step) {}

  StepResult<double> Step(std::span<const double> state,
                          std::span<double> context) override {
    if (!closed_) return {.need_memory = true};
    if (memory_.length == 0) {
      std::fill(context.begin(), context.end(), 0.0);
      return {};
    }
    step_(memory_, state.data(), context.data());
    return {.end = memory_.length, .inspected = memory_.length, .weights = {}};
  }

 private:
  const SoftStep step_;
};

class PublishedMonotonic final : public PublishedDecoder {
 public:
  explicit PublishedMonotonic(MonotonicStep step) : step_(step) {}

  StepResult<double> Step(std::span<const double> state,
                          std::span<double> context) override {
    if (!closed_) return {.need_memory = true};
    if (memory_.length == 0) {
      std::fill(context.begin(), context.end(), 0.0);
      return {};
    }
    const Index inspected =
        step_(memory_, state.data(), &position_, context.data());
    return {.position = position_,
            .begin = position_,
            .end = position_ + 1,
            .inspected = inspected,
            .weights = {&kOne, 1}};
  }

 private:
  static constexpr double kOne = 1;
  const MonotonicStep step_;
  std::int64_t position_ = 0;
};

void RequireProtocol(bool holds, const char* what) {
  if (!holds) {
    throw Unsupported(std::string("the published protocol has ") + what);
  }
}

template <class Real>
void RequireCommon(const Config& config, const SequenceInputs<Real>& inputs) {
  RequireProtocol(std::is_same_v<Real, double>, "precision f64 only");
  RequireProtocol(config.energy == EnergyKind::kDot, "energy dot only");
  RequireProtocol(inputs.scores.empty() && inputs.captured.empty() &&
                      inputs.energy_bias == 0,
                  "energies s . h only");
}

}  // namespace

VariantSpec VariantO0() {
  return {.name = kO0,
          .help = "MAD's benchmark on Eigen, entries as columns, with -O0",
          .reads_scores = false,
          .counts_memory = false,
          .modes = {Mode::kDecode},
          .waits_for_end = true};
}

VariantSpec VariantO3() {
  return {.name = kO3,
          .help = "MAD's benchmark on Eigen, entries as columns, with -O3",
          .reads_scores = false,
          .counts_memory = false,
          .modes = {Mode::kDecode},
          .waits_for_end = true};
}

bool IsPublished(const std::string& variant) {
  return variant == kO0 || variant == kO3;
}

template <class Real>
std::unique_ptr<Decoder<Real>> MakeSoftDecoder(
    const Config& config, const SequenceInputs<Real>& inputs) {
  RequireCommon(config, inputs);
  if constexpr (std::is_same_v<Real, double>) {
    return std::make_unique<PublishedSoft>(config.variant == kO0 ? &SoftStepO0
                                                                 : &SoftStepO3);
  }
  return nullptr;
}

template <class Real>
std::unique_ptr<Decoder<Real>> MakeMonotonicDecoder(
    const Config& config, const SequenceInputs<Real>& inputs) {
  RequireCommon(config, inputs);
  RequireProtocol(config.end == EndPolicy::kStayLast, "end stay_last only");
  RequireProtocol(config.Option<double>("threshold") == 0.5 &&
                      !config.Option<bool>("strict") &&
                      !config.Option<bool>("sample"),
                  "p >= 0.5 only");
  if constexpr (std::is_same_v<Real, double>) {
    return std::make_unique<PublishedMonotonic>(
        config.variant == kO0 ? &MonotonicStepO0 : &MonotonicStepO3);
  }
  return nullptr;
}

template std::unique_ptr<Decoder<float>> MakeSoftDecoder(
    const Config&, const SequenceInputs<float>&);
template std::unique_ptr<Decoder<double>> MakeSoftDecoder(
    const Config&, const SequenceInputs<double>&);
template std::unique_ptr<Decoder<float>> MakeMonotonicDecoder(
    const Config&, const SequenceInputs<float>&);
template std::unique_ptr<Decoder<double>> MakeMonotonicDecoder(
    const Config&, const SequenceInputs<double>&);

}  // namespace attnbench::published
