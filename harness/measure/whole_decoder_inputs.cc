#include "harness/measure/whole_decoder_inputs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "harness/base/purposes.h"
#include "harness/machine/environment.h"
#include "harness/sweep/workload_name.h"
#include "mechanisms/common/philox.h"
#include "mechanisms/energy/energy.h"

namespace attnbench {
namespace {

constexpr double kFavourBeyondAll = 5;  // e^5 : 1 against all others together

Counting CountingOf(const AxisMap& axes) {
  const Index T = axes.at("memory_length").whole();
  const double share = ParseWorkload(axes.at("workload").text()).share;
  return {.entries_per_output =
              share * static_cast<double>(T) /
              static_cast<double>(axes.at("output_length").whole()),
          .longest = T};
}

}  // namespace

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

std::vector<Symbol> CopyOf(std::span<const Symbol> source, Index num_outputs) {
  std::vector<Symbol> copy;
  for (Index i = 0; i < num_outputs; ++i) {
    copy.push_back(source[Size(i * std::ssize(source) / num_outputs)]);
  }
  copy.push_back(kEndSymbol);
  return copy;
}

TranslationTask CopyTask(std::span<const Symbol> source,
                         std::span<const Symbol> copy, Index vocabulary) {
  return {
      .source = source,
      .num_steps = std::ssize(copy),
      .favoured = copy,
      .favour = std::log(static_cast<double>(vocabulary)) + kFavourBeyondAll};
}

DecoderInputs::DecoderInputs(const AxisMap& axes, std::uint64_t seed,
                             ArrayGaps* gaps)
    : DecoderInputs(axes, seed,
                    {.vocabulary = axes.at("vocabulary").whole(),
                     .units = axes.at("dim").whole(),
                     .layers = axes.at("layers").whole()},
                    gaps) {}

DecoderInputs::DecoderInputs(const AxisMap& axes, std::uint64_t seed,
                             const ModelSizes& sizes, ArrayGaps* gaps)
    : timed_(sizes, seed, Scan::kCounting, CountingOf(axes), gaps),
      aligned_(sizes, seed, Scan::kAligned, CountingOf(axes), gaps),
      random_scans_(sizes, seed, Scan::kRandom, {}, gaps),
      beam_(axes.at("beam").whole()) {
  const WorkloadName workload = ParseWorkload(axes.at("workload").text());
  if (workload.kind == WorkloadKind::kCaptured) {
    AddCaptured(workload.path, seed);
    return;
  }
  const Index T = axes.at("memory_length").whole();
  const Index U = axes.at("output_length").whole();
  std::vector<Index> lengths = SourceLengths(seed, T, axes.at("batch").whole());
  lengths.push_back(0);
  const Index symbols =
      std::accumulate(lengths.begin(), lengths.end(), Index{0});
  CheckFits(Times(symbols + symbols * U / T, sizeof(Symbol)));
  for (const Index length : lengths) AddTask(seed, length, length * U / T);
}

void DecoderInputs::AddTask(std::uint64_t seed, Index length, Index outputs) {
  const Index vocabulary = timed_.sizes().vocabulary;
  const auto& source = sources_.emplace_back(
      DrawSource(seed, std::ssize(tasks_), length, vocabulary));
  const auto& copy = copies_.emplace_back(CopyOf(source, outputs));
  tasks_.push_back(CopyTask(source, copy, vocabulary));
}

void DecoderInputs::AddCaptured(const std::string& path, std::uint64_t seed) {
  energies_ = ReadCaptured(path);
  for (const CapturedSequence& sequence : energies_.sequences) {
    CapturedScores& scores = captured_.emplace_back();
    const auto keep = [&](const InputSpec& input, const Table<float>& table) {
      Table<double>& wide = doubles_.emplace_back(table.rows, table.cols);
      std::ranges::copy(table.values, wide.values.begin());
      scores.floats.Set(input.name, table.view());
      scores.doubles.Set(input.name, std::as_const(wide).view());
    };
    keep(kEnergiesInput, sequence.energies);
    keep(kChunkEnergiesInput, sequence.chunk_energies);
    AddTask(seed, sequence.energies.cols, sequence.energies.rows - 1);
    tasks_.back().captured = &scores;
  }
}

}  // namespace attnbench
