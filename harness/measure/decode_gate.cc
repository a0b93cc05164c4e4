#include "harness/measure/decode_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/inputs/on_demand.h"
#include "harness/measure/gate_rounding.h"
#include "mechanisms/description.h"
#include "mechanisms/follow.h"

namespace attnbench {
namespace {

// The multiply-adds that the reference may take for draw 0 if each output reads
// the whole memory: some seconds.
constexpr double kFirstDrawBudget = 0x1p33;

// Everything that decoding one sequence left behind.
template <class Real>
struct Decoded {
  std::vector<std::vector<StepTrace>> steps;  // the heads of each output
  std::vector<Index> positions;               // of all heads
  std::vector<double> masses;                 // sum of |weights| of each output
  std::vector<Real> contexts;                 // [U, d]
  std::vector<Asked> asked;  // for each output; empty: all was there
};

template <class Real>
void AddStep(const StepResult<Real>& step, Decoded<Real>& decoded) {
  AddTraces(step, decoded.steps.emplace_back());
  double mass = 0;
  ForEachHead(step, [&](const StepResult<Real>& head) {
    decoded.positions.push_back(FollowedPosition(head));
    for (const Real weight : head.weights) {
      mass += std::abs(static_cast<double>(weight));
    }
  });
  decoded.masses.push_back(mass);
}

template <class Real>
void CopyContexts(const MatrixView<Real>& contexts, Decoded<Real>& decoded) {
  decoded.contexts.assign(contexts.data,
                          contexts.data + contexts.rows * contexts.cols);
}

template <class Real>
Decoded<Real> Decode(const Mechanism<Real>& mechanism, const Config& config,
                     const Sequence<Real>& sequence,
                     std::span<const Index> follow = {}) {
  Decoded<Real> decoded;
  Forget(sequence.contexts);
  const auto decoder = mechanism.MakeDecoder(config, sequence.inputs);
  Follow(*decoder, follow);
  DecodeWith(
      *decoder, config, sequence,
      [&](Index, const StepResult<Real>& step) { AddStep(step, decoded); });
  CopyContexts(sequence.contexts, decoded);
  return decoded;
}

// Decodes with entries that come one by one, until the decoder has asked for
// the end of the memory: later outputs wait for nothing.
template <class Real>
Decoded<Real> DecodeEntryByEntry(const Mechanism<Real>& mechanism,
                                 const Config& config,
                                 const Sequence<Real>& sequence,
                                 std::span<const Index> follow = {}) {
  Decoded<Real> decoded;
  Forget(sequence.contexts);
  DecodeOnDemand(mechanism, config, sequence, follow,
                 [&](Index, const StepResult<Real>& step, const Asked& asked) {
                   AddStep(step, decoded);
                   decoded.asked.push_back(asked);
                   return !asked.is_closed;
                 });
  CopyContexts(sequence.contexts, decoded);
  return decoded;
}

template <class Real>
void KeepOutputs(Index rows, Sequence<Real>& sequence) {
  sequence.states = FirstRows(sequence.states, rows);
  sequence.inputs.further = FirstOutputs(sequence.inputs.further, rows);
  sequence.contexts.rows = rows;
}

// Names the output, counted from 1 as in the papers.
std::string PlaceText(Index output, int draw, Index sequence) {
  return fmt::format("output {} of draw {}, sequence {}", output + 1, draw,
                     sequence + 1);
}

std::string Difference(const char* what, Index found, Index reference) {
  return found == reference
             ? std::string()
             : fmt::format("{} {}, reference {}", what, found, reference);
}

std::string HeadDifference(const StepTrace& found, const StepTrace& reference) {
  // Entries count from 1 in the text, where 0 is "none".
  std::string text =
      Difference("position", found.position + 1, reference.position + 1);
  if (text.empty())
    text = Difference("begin", found.begin + 1, reference.begin + 1);
  if (text.empty()) text = Difference("end", found.end, reference.end);
  if (text.empty()) {
    text = Difference("inspected", found.inspected, reference.inspected);
  }
  return text;
}

// Says how the heads of an output differ; empty if they do not.
std::string StepDifference(const std::vector<StepTrace>& found,
                           const std::vector<StepTrace>& reference) {
  std::string text = Difference("heads", static_cast<Index>(found.size()),
                                static_cast<Index>(reference.size()));
  for (std::size_t n = 0; text.empty() && n < found.size(); ++n) {
    text = HeadDifference(found[n], reference[n]);
    if (!text.empty() && n > 0) text = fmt::format("head {}: {}", n + 1, text);
  }
  return text;
}

std::string AskedDifference(const Asked& found, const Asked& reference) {
  std::string text =
      Difference("entries asked for", found.num_entries, reference.num_entries);
  if (text.empty() && found.is_closed != reference.is_closed) {
    text = found.is_closed
               ? "it waited for the end of the memory, the reference did not"
               : "it did not wait for the end of the memory, as the reference "
                 "did";
  }
  return text;
}

// The bound on what mixing with rounded weights may add up to. If an output
// weights no entry, or one entry with 1, its context has no rounding.
template <class Real>
double ContextBound(const Decoded<Real>& reference, std::size_t output,
                    double delta, double largest_entry) {
  Index num_weighted = 0;
  for (const StepTrace& head : reference.steps[output]) {
    num_weighted += head.end - head.begin;
  }
  const double mass = reference.masses[output];
  if (num_weighted == 0 || (num_weighted == 1 && mass == 1)) return 0;
  return (std::expm1(4 * delta) +
          8 * kRoundoff<Real> * std::sqrt(static_cast<double>(num_weighted))) *
         std::max(1.0, mass) * largest_entry;
}

template <class Real>
class DecodeGate {
 public:
  DecodeGate(const Mechanism<Real>& mechanism, const Config& config,
             int threads, Workload<Real>& workload, PeerCell<Real>* peer)
      : mechanism_(mechanism),
        config_(config),
        threads_(threads),
        workload_(workload),
        peer_(peer) {}

  GateResult Run() {
    const int num_draws = workload_.num_draws();
    for (int draw = 0; draw < num_draws && result_.message.empty(); ++draw) {
      auto batch =
          workload_.DrawFor(mechanism_.Describe(), draw, config_.energy);
      if (draw > 0) {
        KeepFirstOutputs(kReferenceBudget / num_draws, batch);
      } else if (!mechanism_.Describe().online) {
        KeepFirstOutputs(kFirstDrawBudget, batch);
      }
      if (peer_ == nullptr) {
        CheckDraw(draw, batch);
      } else {
        CheckDrawOfPeer(draw, batch);
      }
    }
    return result_;
  }

 private:
  // Cuts the sequences to as many outputs as the reference can make with the
  // budget of multiply-adds, at least one.
  void KeepFirstOutputs(double budget, std::vector<Sequence<Real>>& batch) {
    const auto d = static_cast<double>(config_.dim);
    double of_an_output = 1;
    for (const Sequence<Real>& sequence : batch) {
      of_an_output += static_cast<double>(sequence.memory.rows) *
                      (config_.energy == EnergyKind::kDot ? d : d * d);
    }
    const auto most =
        std::max<Index>(1, static_cast<Index>(budget / of_an_output));
    for (Sequence<Real>& sequence : batch) {
      KeepOutputs(std::min(most, sequence.contexts.rows), sequence);
    }
  }

  void CheckDraw(int draw, const std::vector<Sequence<Real>>& batch) {
    std::vector<std::vector<Real>> alone;
    for (std::size_t b = 0; b < batch.size(); ++b) {
      const Decoded<Real> found = Decode(mechanism_, config_, batch[b]);
      Compare(found, Reference(batch[b], found.positions), batch[b], draw,
              static_cast<Index>(b));
      if (!result_.message.empty()) return;
      if (draw == 0 && b == 0 && config_.schedule == Schedule::kOnline) {
        CheckEntryByEntry(batch[b]);
        if (!result_.message.empty()) return;
      }
      alone.push_back(found.contexts);
    }
    for (const Sequence<Real>& sequence : batch) Forget(sequence.contexts);
    DecodeBatch(mechanism_, config_, std::span<const Sequence<Real>>(batch),
                threads_);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      const std::size_t num_bytes = alone[b].size() * sizeof(Real);
      if (std::memcmp(batch[b].contexts.data, alone[b].data(), num_bytes) !=
          0) {
        result_.message = fmt::format(
            "sequence {} of draw {}: decoded in a batch on {} threads, its "
            "contexts are not the bits that it gives alone",
            b + 1, draw, threads_);
        return;
      }
    }
  }

  void CheckDrawOfPeer(int draw, const std::vector<Sequence<Real>>& batch) {
    for (const Sequence<Real>& sequence : batch) Forget(sequence.contexts);
    const std::vector<std::vector<Index>> positions = peer_->Decode(batch);
    std::vector<Decoded<Real>> found(batch.size());
    for (std::size_t b = 0; b < batch.size(); ++b) {
      found[b].positions = positions[b];
      CopyContexts(batch[b].contexts, found[b]);
    }
    for (std::size_t b = 0; b < batch.size() && result_.message.empty(); ++b) {
      Compare(found[b], Reference(batch[b], found[b].positions), batch[b], draw,
              static_cast<Index>(b));
    }
  }

  // What a decoder says of an output must follow from the entries that it has
  // asked for by then. Keys of a single entry may be rounded in another way
  // than those of all, so that another entry is chosen: the reference follows
  // anew.
  void CheckEntryByEntry(Sequence<Real> sequence) {
    const Decoded<Real> made =
        DecodeEntryByEntry(mechanism_, config_, sequence);
    KeepOutputs(std::ssize(made.steps), sequence);
    Compare(made,
            DecodeEntryByEntry(mechanism_, ReferenceConfig(), sequence,
                               made.positions),
            sequence, /*draw=*/0, /*b=*/0);
  }

  // A peer tells only the position.
  std::string DifferenceOf(const Decoded<Real>& found,
                           const Decoded<Real>& reference,
                           std::size_t output) const {
    if (peer_ == nullptr) {
      return StepDifference(found.steps[output], reference.steps[output]);
    }
    std::vector<StepTrace> heads = reference.steps[output];
    heads.front().position = found.positions[output];
    return StepDifference(heads, reference.steps[output]);
  }

  Config ReferenceConfig() const {
    Config config = config_;
    config.variant = "reference";
    config.schedule = Schedule::kOnline;
    config.want_weights = true;
    return config;
  }

  Decoded<Real> Reference(const Sequence<Real>& sequence,
                          std::span<const Index> follow) const {
    return Decode(mechanism_, ReferenceConfig(), sequence, follow);
  }

  void Compare(const Decoded<Real>& found, const Decoded<Real>& reference,
               const Sequence<Real>& sequence, int draw, Index b) {
    const double delta = EnergyRounding(sequence, config_);
    const double largest_entry = LargestAbsolute(sequence.memory);
    const bool waits_for_end =
        !found.asked.empty() &&
        VariantOf(mechanism_.Describe(), config_).waits_for_end;
    for (Index i = 0; i < sequence.contexts.rows; ++i) {
      const std::size_t output = Size(i);
      std::string place = PlaceText(i, draw, b);
      if (!found.asked.empty()) {
        place +=
            fmt::format(", made when it had asked for {} of {} entries",
                        found.asked[output].num_entries, sequence.memory.rows);
      }
      const std::string difference = DifferenceOf(found, reference, output);
      if (!difference.empty()) {
        result_.message = place + ": " + difference;
        return;
      }
      const double bound =
          ContextBound(reference, output, delta, largest_entry);
      // A context of Britz' mechanism is a sum, which may be larger than
      // entries.
      const double size = std::max(
          largest_entry,
          LargestAbsolute(MatrixView<const Real>(
              &reference.contexts[Size(i * config_.dim)], 1, config_.dim)));
      if (!(bound < size / 2 || bound == 0)) {
        throw std::runtime_error(fmt::format(
            "{}: rounding may move the context by {:.3g}, as much as the "
            "memory's entries; the output cannot be checked in this precision",
            place, bound));
      }
      CompareContext(found, reference, i, bound, place);
      if (!result_.message.empty()) return;
      if (found.asked.empty()) continue;
      std::string asked;
      if (!waits_for_end) {
        asked = AskedDifference(found.asked[output], reference.asked[output]);
      } else if (!found.asked[output].is_closed) {
        asked =
            "it did not wait for the end of the memory, as its variant says";
      }
      if (!asked.empty()) {
        result_.message = place + ": " + asked;
        return;
      }
    }
  }

  void CompareContext(const Decoded<Real>& found,
                      const Decoded<Real>& reference, Index i, double bound,
                      const std::string& place) {
    result_.error_bound = std::max(result_.error_bound, bound);
    const std::size_t first = Size(i * config_.dim);
    for (std::size_t k = first; k < first + Size(config_.dim); ++k) {
      const double error = std::abs(static_cast<double>(found.contexts[k]) -
                                    static_cast<double>(reference.contexts[k]));
      // Both conditions are written so that NaN is kept, and fails.
      if (!(error <= result_.error)) result_.error = error;
      if (!(error <= bound)) {
        result_.message = fmt::format(
            "{}: context differs by {:.3g} from the reference, bound {:.3g}",
            place, error, bound);
        return;
      }
    }
  }

  const Mechanism<Real>& mechanism_;
  const Config& config_;
  const int threads_;
  Workload<Real>& workload_;
  PeerCell<Real>* const peer_;
  GateResult result_;
};

}  // namespace

template <class Real>
GateResult CheckAgainstReference(const Mechanism<Real>& mechanism,
                                 const Config& config, int threads,
                                 Workload<Real>& workload,
                                 PeerCell<Real>* peer) {
  return DecodeGate<Real>(mechanism, config, threads, workload, peer).Run();
}

template GateResult CheckAgainstReference(const Mechanism<float>&,
                                          const Config&, int, Workload<float>&,
                                          PeerCell<float>*);
template GateResult CheckAgainstReference(const Mechanism<double>&,
                                          const Config&, int, Workload<double>&,
                                          PeerCell<double>*);

}  // namespace attnbench
