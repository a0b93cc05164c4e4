#include "harness/training/held_out.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/printable.h"
#include "mechanisms/common/parallel.h"

namespace attnbench {
namespace {

// Calls work(decoder, example, n) for each of the first `count` sequences.
template <class Work>
void ForEachHeldOut(const HeldOutExamples& examples,
                    const Checkpoint& checkpoint, const std::string& path,
                    Index count, const Work& work) {
  const int threads = omp_get_max_threads();
  ParallelFor(threads, threads, [&](Index part) {
    TrainedDecoder decoder(checkpoint, path);
    for (Index n = count * part / threads; n < count * (part + 1) / threads;
         ++n) {
      work(decoder, examples(n), n);
    }
  });
}

// Of an output, without its end symbol if it has one.
std::vector<Symbol> SymbolsOf(const std::vector<DecodedOutput>& outputs) {
  std::vector<Symbol> symbols;
  for (const DecodedOutput& output : outputs) {
    if (output.symbol != kEndSymbol) symbols.push_back(output.symbol);
  }
  return symbols;
}

ThresholdDecoding ChoicesOf(const std::vector<HeldOutSequence>& sequences) {
  std::vector<DecodedSteps> decoded;
  for (const HeldOutSequence& sequence : sequences) {
    DecodedSteps& one = decoded.emplace_back();
    one.memory_length = sequence.source_length;
    for (const DecodedOutput& output : sequence.outputs) {
      one.steps.push_back({.position = output.position,
                           .begin = std::max<Index>(output.position, 0),
                           .end = output.position + 1});
    }
  }
  return SummaryOf(decoded);
}

void CheckFinite(const NamedTables& tables, const std::string& path, Index n) {
  for (const auto& [name, table] : tables) {
    const auto found = std::ranges::find_if_not(
        table.values, [](float value) { return std::isfinite(value); });
    if (found == table.values.end()) continue;
    const Index at = found - table.values.begin();
    throw UserError(
        path,
        fmt::format("its {} are not finite, at output {} and entry {} of "
                    "held-out sequence {}",
                    name, at / table.cols + 1, at % table.cols + 1, n + 1));
  }
}

std::optional<FolderData> OwnData(const TrainingSettings& settings,
                                  Index count) {
  if (!settings.data) return std::nullopt;
  return ReadFolder(settings, count);
}

}  // namespace

HeldOutExamples::HeldOutExamples(const TrainingRun& run, Index count)
    : run_(run), own_(OwnData(run.settings, count)) {}

Example HeldOutExamples::operator()(Index n) const {
  if (own_) return own_->held_out[Size(n)];
  return MakeExample(run_.settings.task_spec(), run_.held_out_seed,
                     static_cast<std::uint32_t>(n));
}

std::vector<std::string> HeldOutExamples::Names() const {
  return own_ ? own_->vocabulary : std::vector<std::string>();
}

HeldOutDecoding DecodeHeldOut(const Checkpoint& checkpoint,
                              const std::string& path, Index count) {
  const TrainingSettings& settings = checkpoint.run.settings;
  const HeldOutExamples examples(checkpoint.run, count);
  HeldOutDecoding made;
  made.names = examples.Names();
  made.sequences.resize(Size(count));
  ForEachHeldOut(examples, checkpoint, path, count,
                 [&](TrainedDecoder& decoder, const Example& example, Index n) {
                   made.sequences[Size(n)] = {
                       example.source_length(), example.target,
                       decoder.Decode(example, settings.most_outputs())};
                 });
  for (const HeldOutSequence& sequence : made.sequences) {
    const std::span<const Symbol> target = sequence.target;
    const Index symbols = std::ssize(target) - 1;
    made.symbols += symbols;
    made.edits +=
        EditDistance(SymbolsOf(sequence.outputs), target.first(Size(symbols)));
  }
  if (made.symbols == 0) {
    throw UserError(path,
                    fmt::format("the targets of its first {} are empty, so "
                                "that there is no error; ask for more",
                                Counted(Size(count), "held-out sequence")));
  }
  if (settings.is_monotonic()) made.choices = ChoicesOf(made.sequences);
  return made;
}

std::vector<NamedTables> ScoresOfHeldOut(const Checkpoint& checkpoint,
                                         const std::string& path, Index count) {
  const HeldOutExamples examples(checkpoint.run, count);
  std::vector<NamedTables> scores(Size(count));
  ForEachHeldOut(examples, checkpoint, path, count,
                 [&](TrainedDecoder& decoder, const Example& example, Index n) {
                   scores[Size(n)] = decoder.Scores(example);
                 });
  for (Index n = 0; n < count; ++n) CheckFinite(scores[Size(n)], path, n);
  return scores;
}

}  // namespace attnbench
