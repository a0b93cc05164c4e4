// The decoder of every mechanism that chooses one entry an output by a
// monotonic scan: monotonic, mocha and matcha. They differ only in the entries
// that a choice weights, which is the one thing a mechanism hands in.
//
// The scan, MAD algorithm 1: output i goes on from t(i-1), the entry that
// output i-1 chose (t(0) is the first), and stops at the first entry chosen.
// This takes at most T + U - 1 energies in all under `absorb` and `stay_last`,
// since each energy either passes an entry for good or ends an output (MAD 2.2
// says max(T, U), but an entry that was chosen is inspected again).
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_HARD_MECHANISM_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_HARD_MECHANISM_H_

#include <memory>
#include <span>
#include <vector>

#include "mechanisms/energy/energy.h"
#include "mechanisms/mechanism.h"
#include "mechanisms/monotonic/chunk_expectation.h"
#include "mechanisms/monotonic/published_expectation.h"
#include "mechanisms/training/count.h"

namespace attnbench {

// Says how a choice becomes weights.
class ChunkRule {
 public:
  // The chosen entry alone, with weight 1: no chunk energies.
  static ChunkRule ChosenOnly() { return ChunkRule(Kind::kChosenOnly, 1); }
  // Softmax over the `width` entries that end at the chosen one, fewer at the
  // start of the memory (MoChA eq 16 with v cut at the first entry).
  static ChunkRule Window(Index width) {
    return width == 1 ? ChosenOnly() : ChunkRule(Kind::kWindow, width);
  }
  // Softmax over all entries from the last choice to this one (MoChA eq 27).
  static ChunkRule SinceLast() { return ChunkRule(Kind::kSinceLast, 0); }

  bool has_energies() const { return kind_ != Kind::kChosenOnly; }
  bool since_last() const { return kind_ == Kind::kSinceLast; }
  // Of the chunk energies: a key of a window of 4 or more meets several states,
  // which pays for its factors.
  EnergyUse energy_use() const {
    return kind_ == Kind::kWindow && width_ >= 4 ? EnergyUse::kMany
                                                 : EnergyUse::kFew;
  }
  // The first entry weighted, for a scan that began at `start`.
  Index Begin(Index start, Index position) const {
    switch (kind_) {
      case Kind::kChosenOnly:
        return position;
      case Kind::kWindow:
        return position < width_ ? 0 : position - width_ + 1;
      case Kind::kSinceLast:
        return start;
    }
    return position;
  }

 private:
  enum class Kind { kChosenOnly, kWindow, kSinceLast };
  ChunkRule(Kind kind, Index width) : kind_(kind), width_(width) {}
  Kind kind_;
  Index width_;
};

// Says how a choice becomes attention in training. Defaults are those of hard
// monotonic attention, where attention is alpha.
template <class Real>
struct ChunkTraining {
  // Null, or a function that may give null for some configs (w = 1).
  MakeChunkExpectation<Real> exact = nullptr;
  // Costs of `exact` for that config and T; alpha is not counted.
  FunctionCost (*cost)(const Config&, Index memory_length) = nullptr;
  PublishedChunks<Real> published = {};
};

// Fills in what such mechanisms have in common in their descriptions: modes,
// schedules, variants, options beside those of `about`, and inputs. `published`
// are the variants of training that only approximate, without modes, beside
// kParallel, which all of them have.
Description HardDescription(Description about, bool has_chunk_energies,
                            const std::vector<VariantSpec>& published);

// A mechanism that is the scan and a rule.
template <class Real>
class HardMechanism : public Mechanism<Real> {
 public:
  using Rule = ChunkRule (*)(const Config& config);
  using Reference = std::unique_ptr<Decoder<Real>> (*)(
      const Config& config, const SequenceInputs<Real>& inputs);

  // `about` is a HardDescription and outlives this.
  HardMechanism(const Description& about, Rule rule, Reference reference,
                ChunkTraining<Real> training = {});

  const Description& Describe() const override { return about_; }
  std::unique_ptr<Decoder<Real>> MakeDecoder(
      const Config& config, const SequenceInputs<Real>& inputs) const override;
  void Expect(const Config& config, const Sequence<Real>& sequence,
              const Expectation<Real>& out) const override;
  void Gradient(const Config& config, const Sequence<Real>& sequence,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const Gradients<Real>& gradients) const override;
  std::unique_ptr<SequenceTrainer<Real>> MakeTrainer(
      const Config& config) const override;
  Operations Count(const Config& config,
                   const CountedWork& work) const override;

 private:
  std::unique_ptr<AttentionFunction<Real>> MakeFunction(
      const Config& config) const;

  const Description& about_;
  Rule rule_;
  Reference reference_;
  ChunkTraining<Real> training_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_HARD_MECHANISM_H_
