#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>

#include "harness/base/arrays.h"
#include "harness/base/purposes.h"
#include "harness/claims/computed.h"
#include "harness/inputs/on_demand.h"
#include "harness/inputs/point_inputs.h"
#include "harness/inputs/workload.h"
#include "harness/stats/statistics.h"
#include "harness/sweep/sweep.h"
#include "mechanisms/decode.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"
#include "mechanisms/sample.h"

namespace attnbench {
namespace {

const Mechanism<double>& MechanismOf(const std::string& name) {
  return *FindMechanism<double>(name);
}

struct Sizes {
  Index memory_length = 1, output_length = 1, dim = 1;

  static void Fields(auto& self, auto& visit) {
    visit("memory_length", self.memory_length, kAtLeastOne);
    visit("output_length", self.output_length, kAtLeastOne);
    visit("dim", self.dim, kAtLeastOne);
  }
};

WorkloadSpec SpecOf(const Sizes& sizes, const std::string& workload,
                    std::uint64_t seed) {
  return {.workload = workload,
          .memory_length = sizes.memory_length,
          .output_length = sizes.output_length,
          .dim = sizes.dim,
          .seed = seed};
}

Config ConfigOf(const Mechanism<double>& mechanism, Index dim) {
  Config config = DefaultConfig(mechanism.Describe());
  config.dim = dim;
  return config;
}

std::int64_t NumbersThatDiffer(std::span<const double> a,
                               std::span<const double> b) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    count += std::bit_cast<std::uint64_t>(a[i]) !=
             std::bit_cast<std::uint64_t>(b[i]);
  }
  return count;
}

// ---- online -----------------------------------------------------------------

struct OnlineInputs : Sizes {
  std::string mechanism = {};
  std::vector<std::string> workloads = {};
  int draws = 1;

  static void Fields(auto& self, auto& visit) {
    Sizes::Fields(self, visit);
    visit("mechanism", self.mechanism, Rule{.one_of = MechanismNames()});
    visit("workloads", self.workloads, AxisRule("workload"));
    visit("draws", self.draws, kAtLeastOne);
  }
};

struct OnlineRun {
  std::int64_t different_contexts = 0;
  std::int64_t lookahead = 0;  // the largest over the outputs
};

// Decodes the sequence as its entries arrive. `expected` are the contexts of
// decoding with the whole memory.
void DecodeOnline(const Mechanism<double>& mechanism, const Config& config,
                  const Sequence<double>& sequence,
                  const Table<double>& expected, OnlineRun& run) {
  DecodeOnDemand(
      mechanism, config, sequence, {},
      [&](Index i, const StepResult<double>& step, const Asked& asked) {
        if (NumbersThatDiffer(sequence.contexts.Row(i),
                              expected.view().Row(i)) > 0) {
          ++run.different_contexts;
        }
        if (step.position >= 0) {
          run.lookahead =
              std::max(run.lookahead, asked.num_entries - (step.position + 1));
        }
        return true;
      });
}

OnlineRun RunOnline(const OnlineInputs& inputs,
                    const std::string& workload_name, std::uint64_t seed) {
  const auto& mechanism = MechanismOf(inputs.mechanism);
  const Config config = ConfigOf(mechanism, inputs.dim);
  const auto workload =
      MakeWorkload<double>(SpecOf(inputs, workload_name, seed));
  OnlineRun run;
  const int draws = std::min(workload->num_draws(), inputs.draws);
  for (int draw = 0; draw < draws; ++draw) {
    const Sequence<double> sequence =
        workload->DrawFor(mechanism.Describe(), draw, config.energy)[0];
    Table<double> contexts(sequence.contexts.rows, sequence.contexts.cols);
    Sequence<double> at_once = sequence;
    at_once.contexts = contexts.view();
    DecodeSequence(mechanism, config, at_once, [](Index, const auto&) {});
    DecodeOnline(mechanism, config, sequence, contexts, run);
  }
  return run;
}

template <std::int64_t OnlineRun::*Figure>
ComputedRows OnlineFigure(const OnlineInputs& inputs, std::uint64_t seed) {
  ComputedRows rows;
  for (const std::string& workload : inputs.workloads) {
    const OnlineRun run = RunOnline(inputs, workload, seed);
    rows.push_back(ComputedRow({{"workload", workload}},
                               static_cast<double>(run.*Figure)));
  }
  return rows;
}

// ---- w = 1 ------------------------------------------------------------------

struct WidthOneInputs : Sizes {
  std::vector<std::string> what = {};
  int draws = 1;

  static void Fields(auto& self, auto& visit) {
    Sizes::Fields(self, visit);
    visit("what", self.what,
          Rule{.one_of = {"positions", "contexts", "expectation", "gradient",
                          "chunk_energies"}});
    visit("draws", self.draws, Rule{.minimum = 1, .maximum = kMostDraws});
  }
};

struct DecodedDraw {
  std::vector<Index> positions;
  Table<double> contexts;
  double chunk_energies = 0;
};

DecodedDraw DecodeDraw(const Mechanism<double>& mechanism, const Config& config,
                       PointInputs<double>& inputs, int draw) {
  Sequence<double> sequence =
      inputs.workload().DrawFor(mechanism.Describe(), draw, config.energy)[0];
  DecodedDraw decoded;
  decoded.contexts =
      Table<double>(sequence.contexts.rows, sequence.contexts.cols);
  sequence.contexts = decoded.contexts.view();
  std::vector<StepTrace> steps;
  DecodeSequence(mechanism, config, sequence, [&](Index, const auto& step) {
    decoded.positions.push_back(step.position);
    AddTraces(step, steps);
  });
  decoded.chunk_energies =
      mechanism
          .Count(config,
                 {.memory_length = sequence.memory.rows, .steps = steps})
          .chunk_energies;
  return decoded;
}

struct TrainedDraw {
  Table<double> attention;
  Table<double> gradient;  // the gradient of p_choose
};

Table<double> CopyOf(const MatrixView<double>& view) {
  Table<double> copy(view.rows, view.cols);
  for (Index i = 0; i < view.rows; ++i) {
    std::ranges::copy(view.Row(i), copy.view().Row(i).begin());
  }
  return copy;
}

TrainedDraw TrainDraw(const Mechanism<double>& mechanism, Config config,
                      PointInputs<double>& inputs, int draw) {
  config.mode = Mode::kGradient;
  const auto batch = inputs.Training(
      draw, config,
      {.attention_only = true, .mechanism = &mechanism.Describe()});
  TrainBatch<double>(mechanism, config, batch.sequences, 1);
  const TrainingSequence<double>& one = batch.sequences[0];
  return {CopyOf(one.expectation.attention),
          CopyOf(one.gradients.scores.Find("p_choose"))};
}

// Counts what differs in a draw, by the names of WidthOneInputs.
std::map<std::string, std::int64_t> WidthOneDifferences(
    PointInputs<double>& inputs, Index dim, int draw) {
  const auto& monotonic = MechanismOf("monotonic");
  const auto& mocha = MechanismOf("mocha");
  const Config alone = ConfigOf(monotonic, dim);
  Config chunk = ConfigOf(mocha, dim);
  chunk.options["chunk_width"] = 1;
  const DecodedDraw a = DecodeDraw(monotonic, alone, inputs, draw);
  const DecodedDraw b = DecodeDraw(mocha, chunk, inputs, draw);
  const TrainedDraw a_trained = TrainDraw(monotonic, alone, inputs, draw);
  const TrainedDraw b_trained = TrainDraw(mocha, chunk, inputs, draw);
  std::int64_t positions = 0;
  for (std::size_t i = 0; i < a.positions.size(); ++i) {
    positions += a.positions[i] != b.positions[i];
  }
  return {{"positions", positions},
          {"contexts", NumbersThatDiffer(a.contexts.values, b.contexts.values)},
          {"expectation", NumbersThatDiffer(a_trained.attention.values,
                                            b_trained.attention.values)},
          {"gradient", NumbersThatDiffer(a_trained.gradient.values,
                                         b_trained.gradient.values)},
          {"chunk_energies", static_cast<std::int64_t>(b.chunk_energies)}};
}

ComputedRows WidthOneDifference(const WidthOneInputs& inputs,
                                std::uint64_t seed) {
  PointInputs<double> point(SpecOf(inputs, "uniform", seed));
  std::map<std::string, std::int64_t> sums;
  for (int draw = 0; draw < inputs.draws; ++draw) {
    for (const auto& [what, count] :
         WidthOneDifferences(point, inputs.dim, draw)) {
      sums[what] += count;
    }
  }
  ComputedRows rows;
  for (const std::string& what : inputs.what) {
    rows.push_back(
        ComputedRow({{"what", what}}, static_cast<double>(sums.at(what))));
  }
  return rows;
}

// ---- open and closed loops --------------------------------------------------

struct LoopInputs : Sizes {
  std::string mechanism = {};
  std::vector<std::string> loops = {};
  int trials = 1;

  static void Fields(auto& self, auto& visit) {
    Sizes::Fields(self, visit);
    visit("mechanism", self.mechanism, Rule{.one_of = MechanismNames()});
    visit("loops", self.loops, Rule{.one_of = {"open", "closed"}});
    visit("trials", self.trials, kAtLeastOne);
  }
};

// A decoder whose next state follows from its last context.
class FedDecoder {
 public:
  FedDecoder(Index dim, std::uint64_t seed)
      : from_state_(Draw(dim, dim, seed, 0)),
        from_context_(Draw(dim, dim, seed, 1)),
        first_(Draw(1, dim, seed, 2)) {}

  std::vector<double> First() const { return Squashed(first_.values); }
  std::vector<double> Next(std::span<const double> state,
                           std::span<const double> context) const {
    std::vector<double> next(state.size());
    for (std::size_t r = 0; r < next.size(); ++r) {
      const auto row = static_cast<Index>(r);
      const auto a = from_state_.view().Row(row);
      const auto b = from_context_.view().Row(row);
      for (std::size_t c = 0; c < state.size(); ++c) {
        next[r] += a[c] * state[c] + b[c] * context[c];
      }
    }
    return Squashed(std::move(next));
  }

 private:
  static constexpr double kGain = 2;

  static Table<double> Draw(Index rows, Index cols, std::uint64_t seed,
                            std::uint32_t stream) {
    Table<double> table(rows, cols);
    for (std::size_t n = 0; n < table.values.size(); ++n) {
      table.values[n] = kGain / std::sqrt(static_cast<double>(cols)) *
                        StandardNormal(Philox(seed, kClaimsPurpose, stream, n));
    }
    return table;
  }
  static std::vector<double> Squashed(std::vector<double> values) {
    for (double& value : values) value = std::tanh(value);
    return values;
  }

  const Table<double> from_state_;    // A
  const Table<double> from_context_;  // B
  const Table<double> first_;
};

// Of the last output: the probability of each entry to be chosen, then that of
// none.
using Choice = std::vector<double>;

// The alpha of the last output when states follow from expected contexts.
// `states` [U, d] becomes these.
Choice ExpectedChoice(const Mechanism<double>& mechanism, const Config& config,
                      Sequence<double> sequence, const FedDecoder& decoder,
                      Table<double>& states) {
  const Index U = sequence.contexts.rows;
  const Index T = sequence.memory.rows;
  Table<double> contexts(U, config.dim);
  Table<double> selection(U, T);
  Table<double> attention(U, T);
  std::vector<double> state = decoder.First();
  // All rows so far are made anew, as a row depends on the states before it.
  for (Index i = 0; i < U; ++i) {
    std::ranges::copy(state, states.view().Row(i).begin());
    sequence.states =
        MatrixView<const double>(states.values.data(), i + 1, config.dim);
    sequence.contexts = contexts.view().Rows(0, i + 1);
    mechanism.Expect(config, sequence,
                     {.attention = attention.view().Rows(0, i + 1),
                      .selection = selection.view().Rows(0, i + 1)});
    state = decoder.Next(state, contexts.view().Row(i));
  }
  const auto last = selection.view().Row(U - 1);
  Choice choice(last.begin(), last.end());
  double none = 1;
  for (const double alpha : last) none -= alpha;
  choice.push_back(none);
  return choice;
}

// The state of output i, given the one before and the context that followed.
using NextState = std::function<std::vector<double>(
    Index i, std::span<const double> state, std::span<const double> context)>;

// The shares of the trials in which the sampled process makes each choice.
Choice SampledChoice(const Mechanism<double>& mechanism, const Config& config,
                     const Sequence<double>& sequence,
                     const std::vector<double>& first, const NextState& next,
                     int trials) {
  const Index T = sequence.memory.rows;
  const Index U = sequence.contexts.rows;
  Choice choice(Size(T + 1));
  std::vector<double> context(Size(config.dim));
  for (int trial = 0; trial < trials; ++trial) {
    SequenceInputs<double> inputs = sequence.inputs;
    inputs.stream = static_cast<std::uint32_t>(trial);
    const auto decoder = mechanism.MakeDecoder(config, inputs);
    decoder->Append(sequence.memory);
    decoder->Close();
    std::vector<double> state = first;
    Index position = -1;
    for (Index i = 0; i < U; ++i) {
      if (i > 0) state = next(i, state, context);
      const StepResult<double> step = decoder->Step(state, context);
      CheckIsMade(step);
      position = step.position;
    }
    choice[Size(position < 0 ? T : position)] += 1.0 / trials;
  }
  return choice;
}

ComputedRows LoopGap(const LoopInputs& inputs, std::uint64_t seed) {
  const auto& mechanism = MechanismOf(inputs.mechanism);
  const Config config = ConfigOf(mechanism, inputs.dim);
  const auto workload = MakeWorkload<double>(SpecOf(inputs, "uniform", seed));
  const Sequence<double> sequence =
      workload->DrawFor(mechanism.Describe(), 0, config.energy)[0];
  const FedDecoder decoder(config.dim, seed);
  Table<double> states(inputs.output_length, config.dim);
  const Choice expected =
      ExpectedChoice(mechanism, config, sequence, decoder, states);
  const NextState open = [&](Index i, const auto&, const auto&) {
    const auto state = states.view().Row(i);
    return std::vector<double>(state.begin(), state.end());
  };
  const NextState closed = [&](Index, std::span<const double> state,
                               std::span<const double> context) {
    return decoder.Next(state, context);
  };
  ComputedRows rows;
  for (const std::string& loop : inputs.loops) {
    const Choice sampled = SampledChoice(
        mechanism, SamplingConfig(mechanism.Describe(), config), sequence,
        decoder.First(), loop == "open" ? open : closed, inputs.trials);
    rows.push_back(
        ComputedRow({{"loop", loop}}, TotalVariation(expected, sampled)));
  }
  return rows;
}

constexpr NamedQuantity kDecodingQuantities[] = {
    {"online_difference", Reads<OnlineFigure<&OnlineRun::different_contexts>>},
    {"online_lookahead", Reads<OnlineFigure<&OnlineRun::lookahead>>},
    {"width_one_difference", Reads<WidthOneDifference>},
    {"loop_gap", Reads<LoopGap>}};

}  // namespace

std::span<const NamedQuantity> DecodingQuantities() {
  return kDecodingQuantities;
}

}  // namespace attnbench
