#include "harness/trainer/trainer.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "mechanisms/training/noise.h"

namespace attnbench {
namespace {

using at::Tensor;

constexpr Index kEvaluationBatch = 128;
// Decoding is cut off this many symbols after the longest target.
constexpr Index kMoreSymbols = 5;
// Below and above these bounds a p counts as discrete.
constexpr double kAlmostZero = 0.05, kAlmostOne = 0.95;

// Nats, summed over outputs of which there is a target, or their mean.
Tensor Loss(const DecoderOutputs& made, const Batch& batch,
            at::Reduction::Reduction reduction) {
  return at::cross_entropy_loss(made.logits.flatten(0, 1),
                                batch.targets.flatten(), /*weight=*/{},
                                reduction, kNoTarget);
}

// [B, 1, U]: whether there is a target.
Tensor IsOutput(const Batch& batch) {
  return (batch.targets != kNoTarget).t().unsqueeze(1);
}

double SumOf(const Tensor& tensor) {
  return tensor.sum(at::kDouble).item<double>();
}

// The sums that an evaluation is made of.
struct Sums {
  double loss = 0, outputs = 0, mass = 0, looks = 0, discrete_looks = 0;
  Index symbols = 0, soft_edits = 0, hard_edits = 0;

  void AddChoices(const Attended& attended, const Tensor& is_output) {
    const Tensor alpha = attended.selection * is_output.unsqueeze(3);
    const Tensor p = attended.energies.sigmoid();
    // alpha(i, j) = p(i, j) times the probability that output i looks at j.
    const Tensor looks_at = at::where(p > 0, alpha / p, at::zeros_like(p));
    mass += SumOf(alpha);
    looks += SumOf(looks_at);
    discrete_looks += SumOf(looks_at * ((p < kAlmostZero) | (p > kAlmostOne)));
  }
};

// The operators refuse numbers that are not finite, which here are the model's.
template <class Work>
auto OrDiverged(Index step, const Work& work) {
  try {
    return work();
  } catch (const c10::ValueError& error) {
    throw Diverged(
        fmt::format("in step {}: {}", step, error.what_without_backtrace()));
  }
}

Index Edits(const std::vector<std::vector<Symbol>>& outputs,
            const Batch& batch) {
  Index edits = 0;
  for (std::size_t b = 0; b < outputs.size(); ++b) {
    const std::span<const Symbol> target = batch.examples[b].target;
    edits += EditDistance(outputs[b], target.first(target.size() - 1));
  }
  return edits;
}

}  // namespace

Trainer::Trainer(const TrainingRun& run)
    : run_(run),
      parameters_(ParameterSpecsOf(run_.settings), run.seed),
      model_(run_.settings, parameters_) {}

void Trainer::Restore(const Checkpoint& checkpoint, const std::string& path) {
  CheckIsOf(checkpoint, run_, path);
  CheckParameters(ParameterSpecsOf(run_.settings), checkpoint.parameters, path);
  parameters_.Load(checkpoint.parameters);
  step_ = checkpoint.step;
  loss_sum_ = checkpoint.loss_sum;
  curve_ = checkpoint.curve;
}

Checkpoint Trainer::Save() const {
  Checkpoint checkpoint;
  checkpoint.run = run_;
  checkpoint.step = step_;
  checkpoint.loss_sum = loss_sum_;
  checkpoint.curve = curve_;
  checkpoint.parameters = parameters_.Save();
  return checkpoint;
}

// Noise of the step after step_.
Tensor Trainer::Noise(Index outputs, Index entries) const {
  const TrainingSettings& settings = run_.settings;
  if (settings.noise == 0 || !settings.is_monotonic()) return {};
  const double rise = settings.noise_rise * static_cast<double>(settings.steps);
  const double share = static_cast<double>(step_) / std::max(rise, 1.0);
  const double deviation =
      settings.noise * (rise == 0 ? 1 : std::min(share, 1.0));
  Tensor noise = at::empty({settings.batch, 1, outputs, entries});
  auto* next = noise.data_ptr<float>();
  for (Index b = 0; b < settings.batch; ++b) {
    const auto stream = static_cast<std::uint32_t>(step_ * settings.batch + b);
    for (Index i = 0; i < outputs; ++i) {
      for (Index j = 0; j < entries; ++j) {
        *next++ = static_cast<float>(deviation *
                                     StandardNoise(run_.seed, stream, i, j));
      }
    }
  }
  return noise;
}

StepReport Trainer::Step() {
  return OrDiverged(step_ + 1, [&] { return MakeStep(); });
}

Evaluation Trainer::Evaluate(Index count) const {
  return OrDiverged(step_, [&] { return MeasureHeldOut(count); });
}

StepReport Trainer::MakeStep() {
  Stopwatch stopwatch;
  const double before = model_.attention().Seconds();
  stopwatch.Start();
  const StepReport report = TrainOnBatch();
  stopwatch.Stop();
  ++times_.steps;
  times_.seconds += stopwatch.Seconds();
  times_.attention_seconds += model_.attention().Seconds() - before;
  const Index every = run_.settings.curve_every;
  if (every > 0 && step_ % every == 0) {
    curve_.push_back({Evaluate(run_.settings.curve_held_out), step_,
                      loss_sum_ / static_cast<double>(every)});
    loss_sum_ = 0;
  }
  return report;
}

StepReport Trainer::TrainOnBatch() {
  const TrainingSettings& settings = run_.settings;
  const Batch batch = MakeBatch(
      settings.task_spec(), ExampleSet::kTraining, run_.seed,
      static_cast<std::uint32_t>(step_ * settings.batch), settings.batch);
  const Encoding encoding = model_.Encode(batch);
  const DecoderOutputs made = model_.Decode(
      encoding, encoding.first, batch.previous,
      {.noise = Noise(batch.targets.size(0), batch.source.size(0))});
  const Tensor loss = Loss(made, batch, at::Reduction::Mean);
  parameters_.ZeroGradients();
  loss.backward();
  const double norm = parameters_.ClipGradients(settings.greatest_norm);
  StepReport report{.step = step_ + 1, .loss = loss.item<double>()};
  if (!std::isfinite(report.loss) || !std::isfinite(norm)) {
    throw Diverged(
        fmt::format("in step {} the loss is {}, the gradient's norm {}",
                    report.step, report.loss, norm));
  }
  const double left =
      1 - static_cast<double>(step_) / static_cast<double>(settings.steps);
  parameters_.AdamStep(settings.learning_rate * left, ++step_);
  loss_sum_ += report.loss;
  if (made.attended.selection.defined()) {
    const Tensor mass = made.attended.selection.detach().sum(3);
    report.log_mass =
        std::log(SumOf(mass * IsOutput(batch)) / SumOf(IsOutput(batch)));
  }
  return report;
}

Evaluation Trainer::MeasureHeldOut(Index count) const {
  const at::NoGradGuard no_gradient;
  const TrainingSettings& settings = run_.settings;
  const Index most = settings.most_symbols + kMoreSymbols;
  Sums sums;
  for (Index first = 0; first < count; first += kEvaluationBatch) {
    const Batch batch =
        MakeBatch(settings.task_spec(), ExampleSet::kHeldOut,
                  run_.held_out_seed, static_cast<std::uint32_t>(first),
                  std::min(kEvaluationBatch, count - first));
    const Encoding encoding = model_.Encode(batch);
    const DecoderOutputs made =
        model_.Decode(encoding, encoding.first, batch.previous, {});
    const Tensor is_output = IsOutput(batch);
    sums.loss += SumOf(Loss(made, batch, at::Reduction::Sum));
    sums.outputs += SumOf(is_output);
    sums.symbols += std::llround(SumOf(is_output)) - batch.size();
    sums.soft_edits +=
        Edits(model_.DecodeGreedily(batch, most, /*is_hard=*/false), batch);
    if (!settings.is_monotonic()) continue;
    sums.AddChoices(made.attended, is_output);
    sums.hard_edits +=
        Edits(model_.DecodeGreedily(batch, most, /*is_hard=*/true), batch);
  }
  const auto symbols = static_cast<double>(std::max<Index>(sums.symbols, 1));
  Evaluation evaluation{
      .soft_error = static_cast<double>(sums.soft_edits) / symbols,
      .loss = sums.loss / sums.outputs};
  if (settings.is_monotonic()) {
    evaluation.hard_error = static_cast<double>(sums.hard_edits) / symbols;
    evaluation.selected_mass = sums.mass / sums.outputs;
    evaluation.discrete_share =
        sums.looks > 0 ? sums.discrete_looks / sums.looks : 0;
  }
  return evaluation;
}

}  // namespace attnbench
