#include "harness/commands/decode_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "harness/answers/columns.h"
#include "harness/base/document.h"
#include "harness/training/held_out.h"

namespace attnbench {
namespace {

constexpr std::size_t kMostShown = 10;

// Entries count from 1, as in what `decode` prints otherwise; null stands for
// none.
struct ModelOutput {
  Symbol symbol = 0;
  std::optional<Index> position = {};
  Index entries_read = 0;
  double margin = 0;  // the largest logit less the next

  static void Fields(auto& self, auto& visit) {
    visit("symbol", self.symbol);
    visit("position", self.position);
    visit("entries_read", self.entries_read);
    visit("margin", self.margin);
  }
};

struct ModelSequence {
  Index memory_length = 0;
  std::vector<Symbol> target = {};
  std::vector<ModelOutput> outputs = {};

  static void Fields(auto& self, auto& visit) {
    visit("memory_length", self.memory_length);
    visit("target", self.target);
    visit("outputs", self.outputs);
  }
};

struct DecodedModel {
  TrainingRun run = {};
  Index step = 0;
  Index vocabulary = 0;
  bool is_online = false;
  double error = 0;
  Index edits = 0, symbols = 0;
  std::optional<ThresholdDecoding> choices = {};  // null: it chooses no entries
  std::vector<ModelSequence> sequences = {};

  static void Fields(auto& self, auto& visit) {
    visit("run", self.run);
    visit("step", self.step);
    visit("vocabulary", self.vocabulary);
    visit("is_online", self.is_online);
    visit("error", self.error);
    visit("edits", self.edits);
    visit("symbols", self.symbols);
    visit("choices", self.choices);
    visit("sequences", self.sequences);
  }
};

ModelSequence SequenceOf(const HeldOutSequence& decoded) {
  ModelSequence sequence{.memory_length = decoded.source_length,
                         .target = decoded.target};
  for (const DecodedOutput& output : decoded.outputs) {
    ModelOutput& one = sequence.outputs.emplace_back();
    one.symbol = output.symbol;
    if (output.position >= 0) one.position = output.position + 1;
    one.entries_read = output.entries_read;
    one.margin = double{output.margin};
  }
  return sequence;
}

DecodedModel DocumentOf(const TrainedModel& model,
                        const HeldOutDecoding& decoded) {
  const Checkpoint& checkpoint = model.checkpoint();
  DecodedModel document{
      .run = checkpoint.run,
      .step = checkpoint.step,
      .vocabulary = model.settings().vocabulary(),
      .is_online = TrainedDecoder(checkpoint, model.path()).is_online(),
      .error = decoded.error(),
      .edits = decoded.edits,
      .symbols = decoded.symbols,
      .choices = decoded.choices};
  for (const HeldOutSequence& sequence : decoded.sequences) {
    document.sequences.push_back(SequenceOf(sequence));
  }
  return document;
}

// `names` are those of symbols, or none.
std::string SymbolsText(const std::vector<Symbol>& symbols,
                        const std::vector<std::string>& names) {
  std::string text;
  for (const Symbol symbol : symbols) {
    text += text.empty() ? "" : " ";
    if (symbol == kEndSymbol) {
      text += names.empty() ? "." : names[kEndSymbol];
    } else {
      text += names.empty() ? fmt::to_string(symbol) : names[Size(symbol)];
    }
  }
  return text;
}

std::vector<std::string> RowOf(std::size_t number,
                               const ModelSequence& sequence,
                               const std::vector<std::string>& names,
                               bool chooses) {
  std::vector<Symbol> symbols;
  std::vector<std::string> positions;
  for (const ModelOutput& output : sequence.outputs) {
    symbols.push_back(output.symbol);
    positions.push_back(output.position ? fmt::to_string(*output.position)
                                        : "-");
  }
  std::vector<std::string> row = {
      fmt::to_string(number), SymbolsText(sequence.target, names),
      SymbolsText(symbols, names), symbols == sequence.target ? "" : "wrong",
      fmt::to_string(sequence.memory_length)};
  if (chooses) row.push_back(fmt::format("{}", fmt::join(positions, " ")));
  return row;
}

std::string ChoicesText(const ThresholdDecoding& choices) {
  return fmt::format(
      "{:.1f} % of the outputs choose no entry; the last output has read "
      "{:.1f} % of the memory (AP {:.2f}, DAL {:.1f} entries)\n",
      100 * choices.zero_contexts, 100 * choices.memory_read,
      choices.latency->ap, choices.latency->dal);
}

std::string TextOf(const TrainedModel& model, const DecodedModel& document,
                   const std::vector<std::string>& names) {
  std::string text = fmt::format(
      "{}\n{}, {}\n", model.Text(),
      document.choices ? "threshold: an output takes the first entry with p at "
                         "least 1/2"
                       : "by the whole attention",
      document.is_online
          ? "online: entries are encoded when they are asked for"
          : "not online: the model reads the whole source first");
  const bool chooses = document.choices.has_value();
  std::vector<std::vector<std::string>> rows = {
      {"sequence", "target", "output", "", "T"}};
  if (chooses) rows[0].emplace_back("chosen entries");
  for (std::size_t n = 0; n < std::min(kMostShown, document.sequences.size());
       ++n) {
    rows.push_back(RowOf(n + 1, document.sequences[n], names, chooses));
  }
  for (const std::string& line : Aligned(rows)) text += line + "\n";
  text += fmt::format("T: entries of the memory; {}: the end symbol",
                      SymbolsText({kEndSymbol}, names));
  text += chooses ? "; -: no entry\n" + ChoicesText(*document.choices) : "\n";
  return text + fmt::format(
                    "error {:.2f} %: {} edits of {} symbols, without end "
                    "symbols\n",
                    100 * document.error, document.edits, document.symbols);
}

}  // namespace

DecodedModelAnswer DecodeModel(const ModelArguments& arguments,
                               const std::string& output) {
  const TrainedModel model(arguments, output);
  const HeldOutDecoding decoded =
      DecodeHeldOut(model.checkpoint(), model.path(), model.num_sequences());
  const DecodedModel document = DocumentOf(model, decoded);
  return {ToJson(document), TextOf(model, document, decoded.names)};
}

}  // namespace attnbench
