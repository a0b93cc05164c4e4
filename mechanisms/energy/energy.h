// Energy functions a(s, h): how well a decoder state s matches a memory entry
// h. All five are
//
//   dot                  s . h
//   bilinear             s^T W h                              (Luong 2015)
//   additive             v . tanh(W s + V h + b)              (MAD eq 15)
//   normalized_additive  g v/|v| . tanh(W s + V h + b) + r    (MAD eq 16)
//   scaled_bilinear      g s^T W h + r                        (MAD eq 17)
//
// with g = SequenceInputs::energy_scale, of both roles alike (0: 1/sqrt(d), as
// MAD 2.4 starts it), and r = SequenceInputs::energy_bias, which is added to
// the energies of the choice whatever the function is.
//
// Keys. Option `keys` = precomputed makes what depends on h alone once per
// sequence, in Append (V h + b, or W h: d^2 per entry); on_demand makes it
// whenever an energy is evaluated. `additive` on demand is the O(d^2 T U) of
// Britz 3. `bilinear` on demand projects the state instead, once per output:
// s^T W h = (W^T s) . h, so both bilinear forms are a projection and then dot.
//
// Additive energies of many outputs for each key take their tanh from
//
//   tanh(a + b) = 1 - 2 / (1 + exp(2a) exp(2b)):
//
// exp(2b) is made once a key, exp(2a) once a state. The error is then absolute,
// a few units of rounding of sum |v| (kernels.h), instead of 4 ULP of each
// tanh.
#ifndef ATTNBENCH_MECHANISMS_ENERGY_ENERGY_H_
#define ATTNBENCH_MECHANISMS_ENERGY_ENERGY_H_

#include <memory>

#include "mechanisms/mechanism.h"

namespace attnbench {

// What the energies are for. Chunk energies, which MoChA and MAtChA have, take
// parameters of their own, and under dot keys and states of their own.
enum class EnergyRole { kAttention, kChunk };

// Mechanisms with such energies declare these. The first three are the scores
// that can be given for energies. The last two are the keys and states of chunk
// energies under dot, which must not be the memory and the states themselves
// (MoChA 2.4 wants energies distinct from the monotonic ones).
inline const InputSpec kProbabilitiesInput = {
    .name = "p_choose", .shape = "UT", .domain = Domain::kProbability};
inline const InputSpec kEnergiesInput = {.name = "energies", .shape = "UT"};
inline const InputSpec kChunkEnergiesInput = {.name = "chunk_energies",
                                              .shape = "UT"};
inline const InputSpec kChunkKeysInput = {
    .name = "chunk_keys", .shape = "Td", .energy = EnergyKind::kDot};
inline const InputSpec kChunkStatesInput = {
    .name = "chunk_states", .shape = "Ud", .energy = EnergyKind::kDot};

// Whether attention of a mechanism follows from energies, and from chunk
// energies where it declares them, and from nothing else.
bool TakesEnergiesAlone(const Description& description);

// The table that was given for the energies of a role.
template <class Real>
struct GivenScore {
  MatrixView<const Real> table;  // [U, T]
  bool probabilities = false;    // they are p_choose, not energies
};
// Throws Unsupported where none was given.
template <class Real>
GivenScore<Real> FindGivenScore(const SequenceInputs<Real>& inputs,
                                EnergyRole role);

// The captured energies of a role; without data where they stay computed.
template <class Real>
MatrixView<const Real> FindCaptured(const SequenceInputs<Real>& inputs,
                                    EnergyRole role) {
  return inputs.captured.Find(role == EnergyRole::kAttention
                                  ? kEnergiesInput.name
                                  : kChunkEnergiesInput.name);
}

// How many energies an entry has: about one in all, as in a scan, or several.
enum class EnergyUse { kFew, kMany };

// Evaluates the energies of one sequence, at any entry appended so far.
template <class Real>
class Energy {
 public:
  virtual ~Energy() = default;
  // Adds entries that follow those appended before, in the same array. Chunk
  // energies under dot have all their keys from the start, and ignore them.
  virtual void Append(const MatrixView<const Real>& memory) = 0;
  // Sets the state of output i, whose array lives until the next call.
  virtual void SetState(Index output, std::span<const Real> state) = 0;
  // Sets the states of `count` hypotheses, which stand one after another, and
  // projects them together. UseState(i, n) then stands for SetState of output i
  // with the n-th of them.
  virtual void SetStates(Index count, std::span<const Real> states) = 0;
  virtual void UseState(Index output, Index n) = 0;
  // energies[n] = a(s, h_(first + n)) for n in [0, count).
  virtual void Evaluate(Index first, Index count, Real* energies) = 0;
  // Writes all energies [U, T] of U states, which stand one after another;
  // under dot by a matrix product.
  virtual void EvaluateAll(std::span<const Real> states,
                           MatrixView<Real> energies) = 0;
  // Whether Evaluate gives probabilities p, not energies (p_choose was given).
  virtual bool gives_probabilities() const { return false; }
};

// Throws Unsupported where the inputs give scores of another kind.
template <class Real>
std::unique_ptr<Energy<Real>> MakeEnergy(const Config& config,
                                         const SequenceInputs<Real>& inputs,
                                         EnergyRole role, EnergyUse use);

// Flops, and rows of d numbers read or written, of one energy function.
struct EnergyCost {
  double flops_per_entry = 0;  // preparation, for each entry of the memory
  double rows_per_entry = 0;
  double flops_per_state = 0;  // projection, for each state that is used
  double rows_per_state = 0;
  double flops_per_energy = 0;
  double rows_per_energy = 0;            // a key, or the memory entry
  double parameter_rows_per_energy = 0;  // of V, made anew on demand
  // The energy reads the memory entry itself, so that mixing the entry into a
  // context right after reads nothing more.
  bool reads_memory = false;
};
// Scores that are given cost nothing.
EnergyCost CostOfEnergy(const Config& config, EnergyRole role, EnergyUse use,
                        bool scores_given);

// The option `keys`, which every mechanism with the axis `energy` takes.
OptionSpec KeysOption();

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_ENERGY_ENERGY_H_
