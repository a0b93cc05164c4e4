#include "mechanisms/training/count.h"

#include <algorithm>
#include <cmath>

#include "mechanisms/energy/energy.h"
#include "mechanisms/energy/energy_gradient.h"
#include "mechanisms/energy/parameters.h"
#include "mechanisms/training/noise.h"

namespace attnbench {
namespace {

// A number takes log, sqrt and cos, three products, a difference and a sum.
constexpr double kNoiseFlops = 8;

}  // namespace

template <class Real>
Operations CountTraining(const Config& config, const CountedWork& work,
                         bool has_chunk_energies, const FunctionCost& cost) {
  const auto U_outputs = static_cast<Index>(work.steps.size());
  const auto T = static_cast<double>(work.memory_length);
  const auto U = static_cast<double>(U_outputs);
  const auto d = static_cast<double>(config.dim);
  const bool with_gradient = config.mode == Mode::kGradient;
  const double tables = has_chunk_energies ? 2 : 1;
  Operations total;
  total.energies = work.band != nullptr ? work.band->energies : T * U;
  if (has_chunk_energies) {
    total.chunk_energies =
        work.band != nullptr ? work.band->chunk_energies : T * U;
  }
  // The pairs (i, j) of an output and an entry that something is made for.
  const double scored = total.energies;
  const double weighted =
      has_chunk_energies ? total.chunk_energies : total.energies;
  const double block = std::min(T, cost.longest_block);
  const double pairs = T * (block + 1) / 2;
  const double doublings = T > block ? T * std::log2(T / block) : 0;
  total.flops = scored * cost.forward + U * (pairs * cost.forward_pair +
                                             doublings * cost.forward_doubling);
  if (with_gradient) {
    total.flops +=
        scored * cost.backward +
        U * (pairs * cost.backward_pair + doublings * cost.backward_doubling);
  }
  if (NoiseOf(config) != 0) total.flops += kNoiseFlops * scored;
  // These are the tables of scores and attention, and all of that again
  // backwards.
  total.bytes = sizeof(Real) * T * U * (tables + 1) * (with_gradient ? 2 : 1);
  double other_rows = 0;
  for (const EnergyRole role : {EnergyRole::kAttention, EnergyRole::kChunk}) {
    if (work.scores_given) break;
    if (role == EnergyRole::kChunk && !has_chunk_energies) continue;
    const EnergyCost energy =
        CostOfEnergy(config, role, EnergyUse::kMany, false);
    const double evaluated =
        role == EnergyRole::kAttention ? scored : total.chunk_energies;
    total.flops += T * energy.flops_per_entry + U * energy.flops_per_state +
                   evaluated * energy.flops_per_energy;
    // Under dot all energies are one product, which reads a key once.
    const bool is_product =
        config.energy == EnergyKind::kDot && work.band == nullptr;
    const double key_reads = is_product ? T : evaluated;
    total.memory_rows +=
        T * energy.rows_per_entry + key_reads * energy.rows_per_energy;
    other_rows += U * energy.rows_per_state +
                  evaluated * energy.parameter_rows_per_energy;
    if (with_gradient) {
      total.flops +=
          EnergyGradientFlops(config, work.memory_length, U_outputs, evaluated);
      // The memory is read again, pair by pair where there is a tanh, and its
      // gradient is written.
      total.memory_rows += (IsAdditive(config.energy) ? evaluated : T) + T;
      other_rows += 2 * U;
    }
  }
  if (!work.attention_only) {
    total.flops += 2 * weighted * d;
    total.memory_rows += T;
    other_rows += U;
    if (with_gradient) {  // dL/d attention, and this part of dL/d memory
      total.flops += 4 * weighted * d;
      total.memory_rows += 2 * T;
      other_rows += 2 * U;
    }
  }
  total.bytes += sizeof(Real) * d * (total.memory_rows + other_rows);
  return total;
}

template Operations CountTraining<float>(const Config&, const CountedWork&,
                                         bool, const FunctionCost&);
template Operations CountTraining<double>(const Config&, const CountedWork&,
                                          bool, const FunctionCost&);

}  // namespace attnbench
