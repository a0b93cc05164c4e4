// The one interface between mechanisms and everything else: of a mechanism the
// harness sees nothing but this header and those that it includes. A mechanism
// is a folder, a line in registry.cc, and an implementation of Mechanism;
// mechanisms/skeleton/ is the commented example to copy.
//
// Words and letters are those of the papers: memory h_1..h_T, decoder states
// s_1..s_U, context vectors c_1..c_U. In code indices are 0-based.
//
// Decoding is one sequence at a time and one decoder state at a time, as in a
// real decoder, whose next state depends on the last context:
//
//   auto decoder = mechanism.MakeDecoder(config, inputs);
//   decoder->Append(rows);                  // as the encoder produces them
//   StepResult step = decoder->Step(state, context);
//   if (step.need_memory) { decoder->Append(more); /* and Step again */ }
//   decoder->Close();                       // the memory is complete
//
// A batch is many such sequences (decode.h), each with its own length, so a
// padded batch cannot differ from each sequence alone.
//
// Training knows all states beforehand: Expect makes the expectation of what
// decoding draws, Gradient that and its vector-Jacobian product (train.h has
// batches). Expectations are of the open loop: energies are given or follow
// from the states handed in, and not from contexts that were sampled.
#ifndef ATTNBENCH_MECHANISMS_MECHANISM_H_
#define ATTNBENCH_MECHANISMS_MECHANISM_H_

#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mechanisms/beam_state.h"
#include "mechanisms/common/array.h"
#include "mechanisms/common/named_views.h"
#include "mechanisms/costs.h"
#include "mechanisms/gradients.h"

namespace attnbench {

// What happens to output i + 1 when output i chose no entry (the papers differ
// or are silent).
enum class EndPolicy {
  kAbsorb,    // all later contexts are zero: what MAD eq 9 computes
  kStayLast,  // the last entry is chosen without evaluating its energy
  kRestart,   // output i + 1 starts again at the last chosen entry
};

// The energy functions a(s, h); formulas in energy/energy.h.
enum class EnergyKind {
  kDot,
  kBilinear,
  kAdditive,
  kNormalizedAdditive,
  kScaledBilinear,
};

// What runs: the test-time process, or in training its expectation, without or
// with gradients.
enum class Mode { kDecode, kExpect, kGradient };

// How a decoder gets its states: one at a time, or all beforehand.
enum class Schedule { kOnline, kTeacherForced };

// The chunk_width of a window without a left end (infinite lookback).
inline constexpr Index kInfiniteWidth = std::numeric_limits<Index>::max();

// The value of an option.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

// What people call the type of a value.
inline const char* TypeName(const OptionValue& value) {
  constexpr const char* kNames[] = {"true or false", "a whole number",
                                    "a number", "a text"};
  static_assert(std::size(kNames) == std::variant_size_v<OptionValue>);
  return kNames[value.index()];
}

// A setting of a mechanism's own, as `list` shows it and `--option` sets it or
// sweeps over it. Results have it among a cell's options. chunk_width and
// num_contexts, which the papers have letters for, are axes of the harness.
// The type of `default_value` is the type of the option.
struct OptionSpec {
  std::string name;
  OptionValue default_value;
  std::vector<std::string> allowed = {};  // of a string; empty: any
  double least = -std::numeric_limits<double>::infinity();  // of a number
  double greatest = std::numeric_limits<double>::infinity();
  std::string variant = {};  // the only one that reads it; empty: all do
  // The only value of option `policy` under which it is read; empty: under all.
  // Another policy's options are left out of a cell, and so is `policy` at its
  // default: results from before a mechanism had it have the same cells.
  std::string policy = {};
  std::string at_most = {};  // of a whole number: an axis that it cannot exceed
  std::string help = {};
  // `verify` runs every case with each of these. If there are none, it runs
  // some cases with each of `allowed`, and leaves numbers and switches at their
  // default.
  std::vector<OptionValue> verified = {};
};

// Which numbers an input can hold.
enum class Domain {
  kFinite,
  kProbability,  // in [0, 1]
};

// An array that a mechanism reads besides the memory and the states: how case
// files, results, peers and gradients name it, and what it looks like.
struct InputSpec {
  std::string name = {};
  // The letters of its rows and columns: T (entries), U (outputs), d (numbers
  // of an entry and of a state) or K (option num_contexts, of scores only).
  std::string shape = {};
  Domain domain = Domain::kFinite;
  // The only energy function under which it is read. None: it is read under
  // all.
  std::optional<EnergyKind> energy = {};
  bool has_gradient = true;  // mode gradient writes dL/d of it
};

// An algorithm that computes the same thing as `exact`, or a published
// approximation of it.
struct VariantSpec {
  std::string name;
  std::string help;
  bool is_reference = false;  // the oracle of all others
  bool reads_scores = true;   // can start from given scores
  // Whether everything that it allocates is a Buffer. If not (references, the
  // published protocol), a result has no peak_memory_bytes.
  bool counts_memory = true;
  // The mechanism's modes in which it exists; empty: all of them.
  std::vector<Mode> modes = {};
  // Whether it is, in training, a published approximation, which need not agree
  // with `reference`. Every other variant must, and so must all in mode decode.
  bool approximates = false;
  // The option that bounds how far, in L1, a row of attention may be from that
  // of `reference`; empty: they agree, or nothing bounds it (`approximates`).
  std::string bound = {};
  // Whether it decodes with the whole memory alone, also where the mechanism is
  // online: what authors have timed.
  bool waits_for_end = false;
};

// A published form of a training expectation, which `name` stands for: a value
// of option preset, or a variant.
struct PublishedForm {
  std::string name;
  std::string toolkit;  // or the paper; in full, for people
  std::string source;   // file and version, in Markdown
  std::string clips;    // what it clips, and to what
};

// What a mechanism is called and what it can do.
struct Description {
  std::string name = {};   // key in commands and files
  std::string title = {};  // for people
  std::string paper = {};  // citation with section or equation
  // The axes that it has of energy and end.
  std::vector<std::string> axes = {};
  // Which functions it has: MakeDecoder (decode), Expect and Gradient.
  std::vector<Mode> modes = {};
  std::vector<Schedule> schedules = {};
  std::vector<VariantSpec> variants = {};  // "exact" first, with "reference"
  std::vector<OptionSpec> options = {};
  std::vector<PublishedForm> forms = {};
  // Scores that can be given instead of states; one of each list is needed.
  // Scope attention starts from them.
  std::vector<std::vector<InputSpec>> scores = {};
  // What it reads beside memory and states where no scores are given.
  std::vector<InputSpec> further = {};
  // Whether it emits before the memory is complete, also without a policy.
  bool online = false;
  bool beam = false;  // its decoders have StepBeam
};

// One setting of everything that is not data.
struct Config {
  Index dim = 0;  // d, of a memory entry and of a state
  EnergyKind energy = EnergyKind::kDot;
  EndPolicy end = EndPolicy::kAbsorb;
  Mode mode = Mode::kDecode;  // only Count and TrainBatch read it
  Schedule schedule = Schedule::kOnline;
  std::string variant = "exact";
  // Whether to give the weights over the memory entries, too. Off while timing.
  bool want_weights = false;
  // Every option of the mechanism's Description is present.
  std::map<std::string, OptionValue> options;

  // T is the type that the mechanism's OptionSpec has.
  template <class T>
  T Option(const std::string& name) const {
    const auto found = options.find(name);
    if (found == options.end()) {
      CheckFailed(__FILE__, __LINE__, "there is no option " + name);
    }
    const T* const value = std::get_if<T>(&found->second);
    if (value == nullptr) {
      CheckFailed(__FILE__, __LINE__,
                  "option " + name + " is " + TypeName(found->second) +
                      ", but is read as " + TypeName(T()));
    }
    return *value;
  }
};

// Parameter arrays by name ("attention.W", "memory.encoder" ...). The owner
// draws or loads an array when it is first asked for and keeps it, so that
// decoders share it and no trial is timed while drawing.
template <class Real>
class ParameterSource {
 public:
  virtual ~ParameterSource() = default;
  // An array [rows, cols]. Entries have variance 1 / cols.
  virtual MatrixView<const Real> Matrix(std::string_view name, Index rows,
                                        Index cols) const = 0;
};

// What a decoder of one sequence reads besides memory and states. Everything
// that is pointed to outlives the decoder.
template <class Real>
struct SequenceInputs {
  const ParameterSource<Real>* parameters = nullptr;
  // Scores that were given instead of states (case files, workload wait_k), as
  // Description::scores declares them. Where there are any, states are ignored;
  // where there are none, energies follow from the states.
  NamedViews<const Real> scores = {};
  // Energies of a user's own model beside states (workload captured:FILE), [U,
  // T] by their names among scores. Energies are computed as ever, and these
  // then take their places: the work is that of the states, the choices are
  // the model's. They have no bias; energies without an array stay computed.
  NamedViews<const Real> captured = {};
  // The arrays of Description::further and no others. Row j of entries is read
  // once entry j is appended, row i of outputs when output i is made.
  NamedViews<const Real> further = {};
  // r of MAD eq 16, which is added to every energy of the choice, whatever the
  // energy function.
  Real energy_bias = 0;
  // g of MAD eqs 16 and 17, of both energies; 0: 1/sqrt(d), as MAD 2.4 starts
  // it.
  Real energy_scale = 0;
  // Key of the Bernoulli draws under option `sample`, and of the noise under
  // option `noise`.
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
  // T where it is known beforehand, else 0: lets the decoder allocate once.
  Index expected_length = 0;
  // [T], in training: with what probability the scan of the first output begins
  // at each entry, of mechanisms that scan. Empty: at the first entry.
  std::span<const Real> start = {};
};

// What one output did: its first head, which the others follow. Most mechanisms
// have one. Spans and heads are valid until the next call of the decoder. Under
// the teacher-forced schedule `inspected` and `weights` are those of all
// outputs, one after another, and all have the same [begin, end): windows that
// differ by output need the schedule online.
template <class Real>
struct StepResult {
  bool need_memory = false;  // nothing was made: Append or Close, Step again
  Index position = -1;       // t(i), the entry chosen; -1: none, or no choice
  // The entries weighted are [begin, end). An output that weighs none has read
  // the whole memory.
  Index begin = 0;
  Index end = 0;
  // The energies evaluated for the choice; without a choice, for the weights.
  Index inspected = 0;
  std::span<const Real> weights = {};     // of [begin, end), where wanted
  const StepResult* next_head = nullptr;  // of the same output; null: no more
};

// Calls on_head(head) for every head of an output.
template <class Real, class OnHead>
void ForEachHead(const StepResult<Real>& step, const OnHead& on_head) {
  for (const auto* head = &step; head != nullptr; head = head->next_head) {
    on_head(*head);
  }
}

// Adds the weights of all heads to `row` [T].
template <class Real>
void AddWeights(const StepResult<Real>& step, std::span<Real> row) {
  ForEachHead(step, [&](const StepResult<Real>& head) {
    auto sum = row.begin() + head.begin;
    for (const Real weight : head.weights) *sum++ += weight;
  });
}

// Appends the traces of all heads.
template <class Real>
void AddTraces(const StepResult<Real>& step, std::vector<StepTrace>& traces) {
  Index number = 0;
  ForEachHead(step, [&](const StepResult<Real>& head) {
    traces.push_back(
        {head.position, head.begin, head.end, head.inspected, number++});
  });
}

// A combination that a mechanism cannot do: the cell is skipped with this text.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Decodes one sequence. A decoder is not thread-safe, but decoders of different
// sequences share nothing that is written.
template <class Real>
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Adds entries h_j [n, d] that follow those appended before, in the same
  // array. The decoder keeps views of them, not copies: the array outlives it.
  // Precomputed keys, and the K contexts of Britz, are made here.
  virtual void Append(const MatrixView<const Real>& memory) = 0;
  // Says that no more entries come: only now can an output choose none.
  virtual void Close() = 0;
  // Makes the next context c_i into `context` [d], all of it written, from the
  // decoder state `state` [d]; under the teacher-forced schedule all U contexts
  // [U * d] from all states [U * d]. Where the result says
  // need_memory the context is unspecified, and the next call, with the same
  // state, resumes where this one stopped.
  virtual StepResult<Real> Step(std::span<const Real> state,
                                std::span<Real> context) = 0;
  // Makes one output of each of the n hypotheses of a beam search: row r of the
  // states [n * d] and of the contexts [n * d] is that of hypotheses[r], which
  // is brought up to date; results[r] is without weights. Up to rounding this
  // is what Step of a decoder of its own makes; but keys and K contexts are
  // made once, states are projected together, and a memory that all hypotheses
  // read is read once. The memory is closed and the schedule online; the caller
  // never mixes it with Step. Only a beam of several hypotheses needs it.
  virtual void StepBeam(std::span<const Real> /*states*/,
                        std::span<Hypothesis> /*hypotheses*/,
                        std::span<Real> /*contexts*/,
                        std::span<StepResult<Real>> /*results*/) {
    throw Unsupported("has no StepBeam");
  }
};

// One sequence of a batch: T = memory.rows entries, U = states.rows outputs.
// Padding of a batched array lies outside these views and is never read.
template <class Real>
struct Sequence {
  SequenceInputs<Real> inputs;
  MatrixView<const Real> memory;  // [T, d]; Expect from given scores can do
                                  // without
  MatrixView<const Real> states;  // [U, d], empty with given scores
  MatrixView<Real> contexts;      // [U, d], written; Expect: where it has data
  int threads = 1;                // that may work on it
};

// Makes what Mechanism::Expect and ::Gradient make, of one sequence after the
// other, and keeps its scratch. It serves one thread.
template <class Real>
class SequenceTrainer {
 public:
  virtual ~SequenceTrainer() = default;
  virtual void Expect(const Sequence<Real>& sequence,
                      const Expectation<Real>& out) = 0;
  virtual void Gradient(const Sequence<Real>& sequence,
                        const Cotangent<Real>& cotangent,
                        const Expectation<Real>& out,
                        const Gradients<Real>& gradients) = 0;
};

template <class Real>
class Mechanism {
 public:
  virtual ~Mechanism() = default;
  // The description is one object for both precisions, and lives as long as the
  // mechanism.
  virtual const Description& Describe() const = 0;
  // Makes a decoder of one sequence. Throws Unsupported. Thread-safe.
  virtual std::unique_ptr<Decoder<Real>> MakeDecoder(
      const Config& config, const SequenceInputs<Real>& inputs) const = 0;
  // Makes the training expectation of a sequence. Throws Unsupported.
  // Thread-safe.
  virtual void Expect(const Config& /*config*/,
                      const Sequence<Real>& /*sequence*/,
                      const Expectation<Real>& /*out*/) const {
    throw Unsupported("has no Expect");
  }
  // Makes the expectation, and the gradients of
  //   L = <cotangent.attention, attention> + <cotangent.contexts, contexts>
  //       + <cotangent.selection, selection>.
  // Exact zeros and ones of p are fine. Throws Unsupported. Thread-safe.
  virtual void Gradient(const Config& /*config*/,
                        const Sequence<Real>& /*sequence*/,
                        const Cotangent<Real>& /*cotangent*/,
                        const Expectation<Real>& /*out*/,
                        const Gradients<Real>& /*gradients*/) const {
    throw Unsupported("has no Gradient");
  }
  // Makes an object for many sequences; this one and `config` outlive it. It
  // may throw Unsupported here already.
  virtual std::unique_ptr<SequenceTrainer<Real>> MakeTrainer(
      const Config& config) const {
    return std::make_unique<PlainTrainer>(*this, config);
  }
  // Counts the operations of that work, preparation included.
  virtual Operations Count(const Config& config,
                           const CountedWork& work) const = 0;

 private:
  // Keeps nothing between sequences.
  class PlainTrainer final : public SequenceTrainer<Real> {
   public:
    PlainTrainer(const Mechanism& mechanism, const Config& config)
        : mechanism_(mechanism), config_(config) {}
    void Expect(const Sequence<Real>& sequence,
                const Expectation<Real>& out) override {
      mechanism_.Expect(config_, sequence, out);
    }
    void Gradient(const Sequence<Real>& sequence,
                  const Cotangent<Real>& cotangent,
                  const Expectation<Real>& out,
                  const Gradients<Real>& gradients) override {
      mechanism_.Gradient(config_, sequence, cotangent, out, gradients);
    }

   private:
    const Mechanism& mechanism_;
    const Config& config_;
  };
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MECHANISM_H_
