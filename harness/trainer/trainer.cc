#include "harness/trainer/trainer.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "mechanisms/training/noise.h"

namespace attnbench {
namespace {

using at::Tensor;

// Below and above these bounds a p counts as discrete.
constexpr double kAlmostZero = 0.05, kAlmostOne = 0.95;

// The example is one of so many held-out sequences.
constexpr Index kExampleOf = 32;

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
  double spread = 0, spread_sequences = 0;
  Index symbols = 0, soft_edits = 0, hard_edits = 0;
  Tensor histogram = at::zeros({kHistogramBins}, at::kDouble);

  void AddChoices(const Attended& attended, const Tensor& is_output) {
    const Tensor alpha = attended.selection * is_output.unsqueeze(3);
    const Tensor p = attended.energies.sigmoid();
    // alpha(i, j) = p(i, j) times the probability that output i looks at j.
    const Tensor looks_at = at::where(p > 0, alpha / p, at::zeros_like(p));
    mass += SumOf(alpha);
    looks += SumOf(looks_at);
    discrete_looks += SumOf(looks_at * ((p < kAlmostZero) | (p > kAlmostOne)));
    const Tensor bin = (p * kHistogramBins).to(at::kLong);
    histogram +=
        at::bincount(bin.clamp_max(kHistogramBins - 1).flatten(),
                     looks_at.flatten().to(at::kDouble), kHistogramBins);
  }

  // The formula stands at FinalEvaluation::context_spread. `weights` are alpha
  // [B, 1, K, T].
  void AddSpread(const Tensor& weights, const Tensor& lengths) {
    const Tensor alpha = weights.squeeze(1).to(at::kDouble);
    const Tensor t = at::arange(alpha.size(2), alpha.options());
    const Tensor held = alpha.sum(2);  // s_k [B, K]
    const Tensor q = alpha / held.clamp_min(1e-300).unsqueeze(2);
    const Tensor away = t - (q * t).sum(2, /*keepdim=*/true);
    const Tensor sigma = (q * away.square()).sum(2).sqrt();
    const Tensor uniform = ((lengths.square() - 1) / 12.0).sqrt();
    const Tensor is_long = lengths > 1;
    const Tensor each = (held * sigma).sum(1) / (held.sum(1) * uniform);
    spread += SumOf(each.masked_select(is_long));
    spread_sequences += SumOf(is_long);
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

std::vector<std::vector<double>> Rounded(const Tensor& table) {
  std::vector<std::vector<double>> rows(Size(table.size(0)));
  for (std::int64_t i = 0; i < table.size(0); ++i) {
    for (std::int64_t j = 0; j < table.size(1); ++j) {
      const double value = table[i][j].item<double>();
      rows[Size(i)].push_back(std::round(1000 * value) / 1000);
    }
  }
  return rows;
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

FinalEvaluation Trainer::Evaluate(Index count) const {
  return OrDiverged(step_, [&] { return MeasureHeldOut(count); });
}

Batch Trainer::HeldOut(Index first, Index count) const {
  return MakeBatch(run_.settings.task_spec(), ExampleSet::kHeldOut,
                   run_.held_out_seed, static_cast<std::uint32_t>(first),
                   count);
}

AttentionExample Trainer::Example() const {
  const at::NoGradGuard no_gradient;
  const std::vector<attnbench::Example> examples =
      HeldOut(0, kExampleOf).examples;
  const auto longest = std::ranges::max_element(
      examples, {},
      [](const attnbench::Example& one) { return one.target.size(); });
  const Batch batch = HeldOut(longest - examples.begin(), 1);
  const Encoding encoding = model_.Encode(batch);
  const auto decode = [&](bool is_hard) {
    return model_
        .Decode(encoding, encoding.first, batch.previous,
                {.is_hard = is_hard, .wants_attention = true})
        .attended;
  };
  AttentionExample example;
  const Tensor attention = decode(false).attention;
  if (attention.defined()) example.attention = Rounded(attention[0][0]);
  if (run_.settings.is_monotonic()) {
    const Tensor chosen = decode(true).selection[0][0];
    // A column behind the last entry is there for outputs that choose none.
    const Tensor none = 1 - chosen.sum(1, /*keepdim=*/true);
    const Tensor choices = at::cat({chosen, none}, 1).argmax(1);
    for (std::int64_t i = 0; i < choices.size(0); ++i) {
      example.choices.push_back(choices[i].item<std::int64_t>());
    }
  }
  if (run_.settings.mechanism == "memory") {
    example.contexts =
        Rounded(model_.attention().ContextWeights(encoding.memory)[0][0]);
  }
  return example;
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

FinalEvaluation Trainer::MeasureHeldOut(Index count) const {
  const at::NoGradGuard no_gradient;
  const TrainingSettings& settings = run_.settings;
  const Index most = settings.most_outputs();
  Sums sums;
  for (Index first = 0; first < count; first += kEvaluationBatch) {
    const Batch batch =
        HeldOut(first, std::min(kEvaluationBatch, count - first));
    const Encoding encoding = model_.Encode(batch);
    const DecoderOutputs made =
        model_.Decode(encoding, encoding.first, batch.previous, {});
    const Tensor is_output = IsOutput(batch);
    sums.loss += SumOf(Loss(made, batch, at::Reduction::Sum));
    sums.outputs += SumOf(is_output);
    sums.symbols += std::llround(SumOf(is_output)) - batch.size();
    sums.soft_edits +=
        Edits(model_.DecodeGreedily(batch, most, /*is_hard=*/false), batch);
    if (settings.mechanism == "memory") {
      sums.AddSpread(model_.attention().ContextWeights(encoding.memory),
                     batch.lengths);
    }
    if (!settings.is_monotonic()) continue;
    sums.AddChoices(made.attended, is_output);
    sums.hard_edits +=
        Edits(model_.DecodeGreedily(batch, most, /*is_hard=*/true), batch);
  }
  const auto symbols = static_cast<double>(std::max<Index>(sums.symbols, 1));
  FinalEvaluation evaluation{
      {.soft_error = static_cast<double>(sums.soft_edits) / symbols,
       .loss = sums.loss / sums.outputs}};
  if (sums.spread_sequences > 0) {
    evaluation.context_spread = sums.spread / sums.spread_sequences;
  }
  if (settings.is_monotonic()) {
    evaluation.hard_error = static_cast<double>(sums.hard_edits) / symbols;
    evaluation.selected_mass = sums.mass / sums.outputs;
    evaluation.discrete_share =
        sums.looks > 0 ? sums.discrete_looks / sums.looks : 0;
    if (sums.looks > 0) {
      const Tensor shares = sums.histogram / sums.looks;
      evaluation.p_histogram.emplace(
          shares.data_ptr<double>(),
          shares.data_ptr<double>() + shares.numel());
    }
  }
  return evaluation;
}

}  // namespace attnbench
