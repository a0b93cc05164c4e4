#include "harness/training/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/hash.h"
#include "harness/base/input_file.h"
#include "harness/inputs/array_file.h"

namespace attnbench {
namespace {

constexpr std::size_t kMostTableMebibytes = 1024;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The parts of a text between separators.
std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// A text file of the folder, without the ends of its lines.
struct TextFile {
  std::string path;
  std::vector<std::string> lines;

  [[noreturn]] void Fail(std::size_t line, const std::string& what) const {
    throw UserError(fmt::format("{}:{}", path, line), what);
  }
};

class FolderReader {
 public:
  explicit FolderReader(const TrainingSettings& settings)
      : folder_(*settings.data), facts_(*settings.data_facts) {
    if (!std::filesystem::is_directory(folder_)) {
      throw UserError(
          folder_,
          fmt::format("is not there; the model's held-out utterances are read "
                      "from this folder, as seen from the working folder, {}",
                      std::filesystem::current_path().string()));
    }
  }

  FolderData Read(Index count) {
    FolderData data;
    const Symbols targets = ReadVocabulary("vocabulary.txt", &data.vocabulary);
    if (const std::string about = folder_ + "/about.json";
        std::filesystem::exists(about)) {
      hash_.Add(ReadInput(about, kMostTableMebibytes));
    }
    ReadTable();
    const Symbols sources = facts_.source_vocabulary
                                ? ReadVocabulary("source_vocabulary.txt")
                                : Symbols();
    if (facts_.frame_size) AddFeaturesToHash();
    CheckHash();
    if (std::ssize(data.vocabulary) != facts_.vocabulary) {
      FailFacts("vocabulary", facts_.vocabulary, data.vocabulary.size());
    }
    for (std::size_t line = 2; line <= table_.lines.size(); ++line) {
      if (std::ssize(data.held_out) == count) break;
      const std::vector<std::string>& row = rows_[line - 2];
      if (row[columns_["split"]] != "held_out") continue;
      Example& one = data.held_out.emplace_back();
      one.target = SymbolsOf(row[columns_["target"]], targets, line);
      if (facts_.source_vocabulary) {
        one.tokens = SymbolsOf(row[columns_["source"]], sources, line);
      } else {
        one.frame_size = *facts_.frame_size;
        one.frames = FramesOf(row[columns_["id"]]);
      }
    }
    if (std::ssize(data.held_out) < count) {
      throw UserError(
          folder_, fmt::format("has {} held-out utterances, and {} are asked "
                               "for",
                               data.held_out.size(), count));
    }
    return data;
  }

 private:
  using Symbols = std::map<std::string, Symbol, std::less<>>;

  [[noreturn]] void FailFacts(const char* fact, Index expected,
                              std::size_t found) const {
    throw UserError(folder_, fmt::format("has a {} of {}; data_facts.{} of the "
                                         "model is {}",
                                         fact, found, fact, expected));
  }

  TextFile ReadText(const std::string& name) {
    TextFile file{folder_ + "/" + name, {}};
    const std::string bytes = ReadInput(file.path, kMostTableMebibytes);
    hash_.Add(bytes);
    std::string_view text = bytes;
    if (text.starts_with(kByteOrderMark)) {
      text.remove_prefix(kByteOrderMark.size());
    }
    if (text.ends_with('\n')) text.remove_suffix(1);
    file.lines = Split(text, '\n');
    for (std::string& line : file.lines) {
      if (line.ends_with('\r')) line.pop_back();
    }
    return file;
  }

  Symbols ReadVocabulary(const std::string& name,
                         std::vector<std::string>* names = nullptr) {
    Symbols symbols;
    if (names != nullptr) *names = {"<s>", "</s>"};
    Symbol next = kFirstSymbol;
    for (const std::string& symbol : ReadText(name).lines) {
      symbols.emplace(symbol, next++);
      if (names != nullptr) names->push_back(symbol);
    }
    return symbols;
  }

  void ReadTable() {
    table_ = ReadText("utterances.tsv");
    const std::vector<std::string> names = Split(table_.lines[0], '\t');
    for (std::size_t n = 0; n < names.size(); ++n) columns_[names[n]] = n;
    for (const char* const name :
         {"id", "split", "target",
          facts_.source_vocabulary ? "source" : "id"}) {
      if (!columns_.contains(name)) {
        table_.Fail(1, fmt::format("has no column {}", name));
      }
    }
    for (std::size_t line = 2; line <= table_.lines.size(); ++line) {
      rows_.push_back(Split(table_.lines[line - 1], '\t'));
      if (rows_.back().size() != names.size()) {
        table_.Fail(line, fmt::format("has {} columns; expected {}",
                                      rows_.back().size(), names.size()));
      }
    }
  }

  void AddFeaturesToHash() {
    for (const std::vector<std::string>& row : rows_) {
      hash_.Add(
          ReadInput(FeaturesOf(row[columns_["id"]]), kMostArrayMebibytes));
    }
  }

  void CheckHash() const {
    if (hash_.Hex() == facts_.hash) return;
    throw UserError(folder_,
                    fmt::format("has changed since the model was trained: its "
                                "hash is {}, that of the model's data {}",
                                hash_.Hex(), facts_.hash));
  }

  std::vector<Symbol> SymbolsOf(const std::string& text, const Symbols& symbols,
                                std::size_t line) const {
    std::vector<Symbol> made;
    for (const std::string& name : Split(text, ' ')) {
      const auto found = symbols.find(name);
      if (found == symbols.end()) {
        table_.Fail(line, fmt::format("'{}' is not in the vocabulary", name));
      }
      made.push_back(found->second);
    }
    made.push_back(kEndSymbol);
    return made;
  }

  std::string FeaturesOf(const std::string& id) const {
    return folder_ + "/features/" + id + ".npy";
  }

  std::vector<float> FramesOf(const std::string& id) const {
    const NumberArray array = ReadArray(FeaturesOf(id), id);
    if (array.shape.size() != 2 || array.shape[1] != *facts_.frame_size) {
      throw UserError(array.place, fmt::format("expected frames of {} numbers",
                                               *facts_.frame_size));
    }
    std::vector<float> frames;
    for (const double x : array.values) {
      frames.push_back(static_cast<float>(x));
    }
    return frames;
  }

  const std::string folder_;
  const DataFacts& facts_;
  Crc32 hash_;
  TextFile table_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace

FolderData ReadFolder(const TrainingSettings& settings, Index count) {
  return FolderReader(settings).Read(count);
}

}  // namespace attnbench
