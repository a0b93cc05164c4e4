// A measured cell as it stands in a result, and in what a worker and the
// journal say of it.
#ifndef ATTNBENCH_HARNESS_RESULTS_CELL_H_
#define ATTNBENCH_HARNESS_RESULTS_CELL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/latency/latency.h"
#include "harness/machine/context.h"
#include "harness/machine/interval_form.h"
#include "harness/stats/statistics.h"
#include "harness/sweep/cell.h"

namespace attnbench {

enum class CellStatus {
  kOk,
  kInvalid,  // its output was wrong
  kError,
  kTimeout,
  kSkipped,  // it cannot be measured at all
};

template <>
struct ValueNames<CellStatus> {
  static constexpr NamedValue<CellStatus> kAll[] = {
      {"ok", CellStatus::kOk},
      {"invalid", CellStatus::kInvalid},
      {"error", CellStatus::kError},
      {"timeout", CellStatus::kTimeout},
      {"skipped", CellStatus::kSkipped}};
};

// Whether a cell should have been timed and was not.
inline bool IsFailure(CellStatus status) {
  return status != CellStatus::kOk && status != CellStatus::kSkipped;
}

// Exact counts of a trial, means over the draws.
struct CellOperations : Operations {
  static void Fields(auto& self, auto& visit) {
    visit("energies", self.energies, kAtLeastZero);
    visit("chunk_energies", self.chunk_energies, kAtLeastZero);
    visit("memory_rows", self.memory_rows, kAtLeastZero);
    visit("flops", self.flops, kAtLeastZero);
    visit("bytes", self.bytes, kAtLeastZero);
  }
};

// How the samples are spread (summary.h).
struct Spread {
  std::optional<double> rounds, processes, builds, draws;
  std::int64_t outliers = 0;
  std::optional<double> drift, drift_p;

  static void Fields(auto& self, auto& visit) {
    visit("rounds", self.rounds);
    visit("processes", self.processes);
    visit("builds", self.builds, Rule{.may_be_absent = true});
    visit("draws", self.draws);
    visit("outliers", self.outliers, kAtLeastZero);
    visit("drift", self.drift);
    visit("drift_p", self.drift_p);
  }
};

// What variant `banded` evaluated and left out in training.
struct BandFigures {
  double mass_cut = 0;
  double reach = 1;
  double dense = 0;
  // Of mode gradient in scope full: the L1 error of the gradients of memory and
  // states against `exact`, and the L1 norm of these.
  std::optional<double> gradient_error = {}, gradient_size = {};

  // Takes the worst of both; `dense` becomes a sum.
  void Add(const BandFigures& other);
  static void Fields(auto& self, auto& visit) {
    const Rule share{.minimum = 0, .maximum = 1};
    visit("mass_cut", self.mass_cut, share);
    visit("reach", self.reach, share);
    visit("dense", self.dense, share);
    visit("gradient_error", self.gradient_error, kAtLeastZero);
    visit("gradient_size", self.gradient_size, kAtLeastZero);
  }
};

// Sums over the output, and how far it was from the reference's.
struct Numerics {
  std::optional<double> attention_mass, context_sum, context_l2;
  std::optional<double> error, error_bound;

  static void Fields(auto& self, auto& visit) {
    visit("attention_mass", self.attention_mass);
    visit("context_sum", self.context_sum);
    visit("context_l2", self.context_l2);
    visit("error", self.error);
    visit("error_bound", self.error_bound);
  }
};

// How much of the memory the attention of a whole decoder read.
struct DecoderReads {
  double energies_per_output = 0;
  // The share of outputs without any entry, of all hypotheses, and the share of
  // the memory up to the last entry that a hypothesis weighted on its own way,
  // mean over those of the last step. None where all sources are empty.
  std::optional<double> zero_contexts, memory_read;

  static void Fields(auto& self, auto& visit) {
    const Rule share{.minimum = 0, .maximum = 1};
    visit("energies_per_output", self.energies_per_output, kAtLeastZero);
    visit("zero_contexts", self.zero_contexts, share);
    visit("memory_read", self.memory_read, share);
  }
};

// What only a whole decoder has.
struct DecoderFigures {
  std::vector<std::int64_t> source_lengths;
  // Of its attention alone, process after process: the same memory, states and
  // forks of hypotheses once more, without the model around it.
  std::vector<double> attention_samples_ns;
  std::optional<std::int64_t> attention_trials_per_sample;  // of process 1
  std::optional<double> attention_median_ns;
  std::optional<Interval> attention_interval_ns;
  std::optional<DecoderReads> reads;  // of mechanism none there are none

  static void Fields(auto& self, auto& visit) {
    visit("source_lengths", self.source_lengths, kAtLeastZero);
    visit("attention_samples_ns", self.attention_samples_ns, kAboveZero);
    visit("attention_trials_per_sample", self.attention_trials_per_sample,
          kAtLeastOne);
    visit("attention_median_ns", self.attention_median_ns, kAboveZero);
    visit("attention_interval_ns", self.attention_interval_ns);
    visit("reads", self.reads);
  }
};

// All that a new member needs is its place here and in Fields, and the code
// that fills it: the schema, docs/results.md and the readers in Python follow
// from Fields, and whatever is not in CellIdentity is an outcome.
struct ResultCell : CellIdentity {
  CellStatus status = CellStatus::kOk;
  std::optional<std::string> message;
  std::vector<double> samples_ns;
  std::optional<std::int64_t> trials_per_sample;
  std::int64_t processes = 1;
  std::int64_t builds = 1;
  std::optional<double> median_ns;
  std::optional<Interval> interval_ns;
  std::optional<double> least_ns;
  std::optional<double> prepare_ns;
  std::optional<Spread> spread;
  std::vector<double> prepare_samples_ns;
  std::vector<double> draw_ns;
  std::optional<CellOperations> operations;
  std::optional<double> instructions;
  std::optional<Latency> latency;
  std::optional<std::int64_t> peak_memory_bytes;
  std::optional<double> page_faults;
  std::optional<CellLimit> limit;
  std::optional<Numerics> numerics;
  std::optional<BandFigures> band;
  std::optional<DecoderFigures> decoder;
  std::string point;  // empty until the sweep says it

  bool is_ok() const { return status == CellStatus::kOk; }

  static void Fields(auto& self, auto& visit) {
    CellIdentity::Fields(self, visit);
    visit("status", self.status,
          Rule{.description =
                   "`ok`; `invalid`: the output disagreed with the reference, "
                   "so there is no time; or `skipped`, `error`, `timeout`"});
    visit("message", self.message,
          Rule{.description = "why it is not `ok`, else null"});
    visit("samples_ns", self.samples_ns,
          Rule{.description =
                   "one number a round: the time of a trial, which makes all U "
                   "outputs of all B sequences; with several processes theirs "
                   "stand one after the other",
               .minimum = 0});
    visit("trials_per_sample", self.trials_per_sample,
          Rule{.description = "how often a sample took the trial, in process 1",
               .minimum = 0});
    visit("processes", self.processes,
          Rule{.description = "how many processes measured it, each with "
                              "equally many rounds",
               .minimum = 1});
    visit("builds", self.builds,
          Rule{.description = "how many relinks of the program measured it; "
                              "process k is of build k mod `builds`",
               .minimum = 1,
               .may_be_absent = true});
    visit("median_ns", self.median_ns,
          Rule{.description = "the centre of the samples", .minimum = 0});
    visit("interval_ns", self.interval_ns,
          Rule{.description = "its 95 % interval; null for a single round"});
    visit("least_ns", self.least_ns,
          Rule{.description =
                   "the least sample, as other work makes samples longer and "
                   "nothing makes them shorter: what to set beside a "
                   "benchmark that reports its best run",
               .minimum = 0,
               .may_be_absent = true});
    visit("prepare_ns", self.prepare_ns,
          Rule{.description =
                   "of mode `decode`: the part of it that is done once, such "
                   "as keys and the K contexts of `memory`",
               .minimum = 0});
    visit("spread", self.spread,
          Rule{.description = "how much samples differ"});
    visit("prepare_samples_ns", self.prepare_samples_ns,
          Rule{.description = "`prepare_ns` of each round", .minimum = 0});
    visit("draw_ns", self.draw_ns,
          Rule{.description =
                   "a time for each draw of the inputs, by the first process: "
                   "the spread that is not the clock's",
               .minimum = 0});
    visit("operations", self.operations,
          Rule{.description =
                   "exact, means over the draws: `energies` (scores of "
                   "entries), `chunk_energies`, `memory_rows` (keys, memory "
                   "and contexts), `flops`, `bytes`"});
    visit("instructions", self.instructions,
          Rule{.description =
                   "of `--measure instructions`: the instructions of a trial, "
                   "mean over the draws, as callgrind counted them",
               .exclusive_minimum = 0,
               .absent_if_unset = true});
    visit("latency", self.latency,
          Rule{.description =
                   "how late an online decoder's outputs come: `ap`, `al`, "
                   "`laal`, `dal`, exact means over draws and sequences; null "
                   "for all others",
               .may_be_absent = true});
    visit("peak_memory_bytes", self.peak_memory_bytes,
          Rule{.description =
                   "bytes that the mechanism asked for, exact; null for "
                   "`reference`, `published_O3`, `published_O0` and peers "
                   "(other programs)",
               .minimum = 0});
    visit("page_faults", self.page_faults,
          Rule{.description =
                   "pages that the system cleared for a trial, mean over those "
                   "of the round that had most; null for a peer that does not "
                   "tell. With more than 16, but for peers, the result has a "
                   "warning: a part of the time is the system's",
               .minimum = 0,
               .may_be_absent = true});
    visit("limit", self.limit,
          Rule{.description =
                   "what binds the cell on this machine: `bound` (compute, or "
                   "the level of memory that holds `working_set_bytes`, what a "
                   "thread touches), the time that leaves, `limit_ns`, and "
                   "`fraction`, that over the median, both with intervals"});
    visit("numerics", self.numerics,
          Rule{.description =
                   "sums over the output, to compare later runs with; the "
                   "largest error against the reference, and its bound"});
    visit("band", self.band,
          Rule{.description =
                   "of variant `banded`: `mass_cut`, the bound of the L1 error "
                   "of every row of attention, and in scope full "
                   "`gradient_error`, that of the gradients, beside their "
                   "`gradient_size`, largest over the sequences; `reach`, the "
                   "share of the memory up to the "
                   "last energy evaluated, least over them; `dense`, the share "
                   "of them computed as `exact` does",
               .absent_if_unset = true});
    visit(
        "decoder", self.decoder,
        Rule{.description = "of whole decoders alone, for which `operations`, "
                            "`prepare_ns`, `limit` and the sums are null",
             .absent_if_unset = true});
    visit("point", self.point,
          Rule{.description = "the name of its point, "
                              "which follows from what its cells share",
               .pattern = kPointName.pattern});
  }
};

// A cell of the sweep that gave no numbers.
ResultCell FailedCell(const Cell& cell, CellStatus status,
                      const std::string& message);

// Throws UserError naming the place where the cell says something that does not
// go together: a cell that is ok has every figure of its mode, no error above
// its bound, samples above 0 and equally many of each process, and equally many
// processes of each build; any other has a message and no time at all, so that
// nobody takes a wrong output's speed for a result.
void CheckCell(const ResultCell& cell, const Place& place);

// What of that a schema can say, and what readers need to know of the members:
// which of them are the `identity`, and which the `group` of cells that are
// compared with each other.
Json CellConditions();

// The axes that all cells of a group agree in, beside their point.
inline constexpr const char* kGroupAxes[] = {"mode", "scope", "precision",
                                             "threads"};

// Throws UserError if samples are not above 0, or not equally many of each
// process; `list` is their name.
void CheckSamples(const std::vector<double>& samples, std::int64_t processes,
                  const char* list, const Place& place);

// A warning where cells had more than a handful of page faults a trial: then
// their times are partly the system's. Empty where none had.
std::vector<std::string> PageFaultWarnings(std::span<const ResultCell> cells);

// A warning where the band of a cell never reaches the end of its memory. Empty
// where all do.
std::vector<std::string> BandWarnings(std::span<const ResultCell> cells);

// Whether another program measured it (experiments/peers), by its variant's
// name: "framework" or one that begins so.
bool IsPeers(const CellIdentity& cell);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RESULTS_CELL_H_
