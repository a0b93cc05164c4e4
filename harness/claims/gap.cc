#include "harness/gap/gap.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/claims/computed.h"
#include "harness/gap/processes.h"
#include "harness/gap/random_decoder.h"
#include "harness/stats/statistics.h"

namespace attnbench {
namespace {

// Every path is followed, so lengths are few.
struct EnumeratedInputs {
  std::vector<double> feedback = {};
  double sharpness = 1;
  Index memory_length = 1, output_length = 1, dim = 1;
  int draws = 1;

  static void Fields(auto& self, auto& visit) {
    const Rule few{.minimum = 1, .maximum = 4};
    visit("feedback", self.feedback, Rule{.min_items = 1});
    visit("sharpness", self.sharpness, kAtLeastZero);
    visit("memory_length", self.memory_length, few);
    visit("output_length", self.output_length, few);
    visit("dim", self.dim, kAtLeastOne);
    visit("draws", self.draws, kAtLeastOne);
  }
};

// The greatest of a decoder's outputs.
double GapOfEntries(const RandomDecoder& decoder) {
  const Table<double> alpha = Processes(decoder).Expectation({}).entries;
  const Table<double> exact = EnumeratePaths(decoder).marginals.entries;
  double greatest = 0;
  for (Index i = 0; i < alpha.rows; ++i) {
    greatest = std::max(
        greatest, TotalVariation(alpha.view().Row(i), exact.view().Row(i)));
  }
  return greatest;
}

ComputedRows EnumeratedGap(const EnumeratedInputs& inputs, std::uint64_t seed) {
  ComputedRows rows;
  for (const double feedback : inputs.feedback) {
    double greatest = 0;
    for (int draw = 0; draw < inputs.draws; ++draw) {
      const RandomDecoder decoder(
          {.sizes = {.memory_length = inputs.memory_length,
                     .output_length = inputs.output_length,
                     .dim = inputs.dim,
                     .vocabulary = 2},
           .sharpness = inputs.sharpness,
           .feedback = feedback,
           .seed = GapSeed(seed, draw)});
      greatest = std::max(greatest, GapOfEntries(decoder));
    }
    rows.push_back(ComputedRow({{"feedback", feedback}}, greatest));
  }
  return rows;
}

constexpr NamedQuantity kGapQuantities[] = {
    {"enumerated_gap", Reads<EnumeratedGap>}};

}  // namespace

std::span<const NamedQuantity> GapQuantities() { return kGapQuantities; }

}  // namespace attnbench
