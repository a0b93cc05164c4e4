#include "harness/measure/decoder_inputs.h"

#include <numeric>

#include "harness/base/purposes.h"
#include "harness/machine/environment.h"
#include "harness/sweep/workload_name.h"
#include "mechanisms/common/philox.h"

namespace attnbench {

std::vector<Index> SourceLengths(std::uint64_t seed, Index longest,
                                 Index num_sources) {
  std::vector<Index> lengths(Size(num_sources));
  for (Index n = 0; n < num_sources; ++n) {
    const Index mirrored = num_sources - 1 - n;
    if (mirrored <= n) {
      lengths[Size(n)] =
          mirrored == n ? longest / 2 : longest - lengths[Size(mirrored)];
      continue;
    }
    const auto words =
        Philox(seed, kSourceLengthPurpose, static_cast<std::uint32_t>(longest),
               static_cast<std::uint64_t>(n));
    const double place = (static_cast<double>(n) + Uniform24(words[0])) /
                         static_cast<double>(num_sources);
    lengths[Size(n)] =
        static_cast<Index>(place * static_cast<double>(longest + 1));
  }
  return lengths;
}

std::vector<Symbol> DrawSource(std::uint64_t seed, Index n, Index length,
                               Index vocabulary) {
  const auto choices = static_cast<double>(vocabulary - kFirstSymbol);
  std::vector<Symbol> source;
  for (Index t = 0; t < length; ++t) {
    const auto words =
        Philox(seed, kSourcePurpose, static_cast<std::uint32_t>(n),
               static_cast<std::uint64_t>(t));
    source.push_back(kFirstSymbol +
                     static_cast<Symbol>(Uniform24(words[0]) * choices));
  }
  return source;
}

DecoderInputs::DecoderInputs(const AxisMap& axes, std::uint64_t seed)
    : DecoderInputs(axes, seed,
                    {.vocabulary = axes.at("vocabulary").whole(),
                     .units = axes.at("dim").whole()}) {}

DecoderInputs::DecoderInputs(const AxisMap& axes, std::uint64_t seed,
                             const ModelSizes& sizes)
    : timed_(sizes, seed, Scan::kCounting,
             ParseWorkload(axes.at("workload").text()).share),
      random_scans_(sizes, seed, Scan::kRandom),
      beam_(axes.at("beam").whole()) {
  std::vector<Index> lengths = SourceLengths(
      seed, axes.at("memory_length").whole(), axes.at("batch").whole());
  lengths.push_back(0);
  // A source and its target.
  CheckFits(Times(std::accumulate(lengths.begin(), lengths.end(), Index{0}),
                  2 * sizeof(Symbol)));
  for (const Index length : lengths) {
    tasks_.emplace_back(
        DrawSource(seed, std::ssize(tasks_), length, sizes.vocabulary),
        sizes.vocabulary);
  }
}

}  // namespace attnbench
