#include "harness/decoder_experiment.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "harness/json_file.h"
#include "harness/json_node.h"
#include "harness/purposes.h"

namespace attnbench {
namespace {

constexpr std::int64_t kMostLength = 100'000;
constexpr std::int64_t kMostBeam = 1'000;
constexpr std::int64_t kMostSequences = 100'000;
constexpr std::int64_t kMostUnits = 1 << 14;
constexpr double kLeastMemoryShare = 0.01;
constexpr std::int64_t kMostVocabulary = 1 << 22;

// What a sweep's file does not have.
const std::vector<std::string>& OwnKeys() {
  static const std::vector<std::string> keys = {"model", "sequences", "length",
                                                "beam"};
  return keys;
}

// The value, or each of a list once.
template <class Value, class Read>
std::vector<Value> ReadEach(const Node& node, const Read& read) {
  std::vector<Value> values;
  ForEachValue(node, [&](const Node& item) {
    const Value value = read(item);
    if (std::ranges::find(values, value) == values.end()) {
      values.push_back(value);
    }
  });
  return values;
}

std::vector<Index> ReadIntegers(const Node& node, std::int64_t least,
                                std::int64_t greatest) {
  return ReadEach<Index>(node, [&](const Node& item) {
    return ReadInteger(item, least, greatest);
  });
}

std::vector<double> ReadShares(const Node& node) {
  return ReadEach<double>(node, [](const Node& item) {
    return ReadNumber(item, kLeastMemoryShare, 1);
  });
}

void ReadModel(const Node& node, DecoderExperiment& experiment) {
  CheckObject(node, {"vocabulary", "units", "memory_share"});
  if (node.Has("vocabulary")) {
    experiment.vocabulary = ReadInteger(node.Member("vocabulary"),
                                        kFirstSymbol + 1, kMostVocabulary);
  }
  if (node.Has("units")) {
    experiment.units = ReadIntegers(node.Member("units"), 1, kMostUnits);
  }
  if (node.Has("memory_share")) {
    experiment.memory_shares = ReadShares(node.Member("memory_share"));
  }
}

// What the file, or a profile of it, says of model and sequences; the rest
// stays.
void ReadOwn(const Node& node, DecoderExperiment& experiment) {
  if (node.Has("model")) ReadModel(node.Member("model"), experiment);
  if (node.Has("sequences")) {
    experiment.num_sequences =
        ReadInteger(node.Member("sequences"), 1, kMostSequences);
  }
  if (node.Has("length")) {
    experiment.lengths = ReadIntegers(node.Member("length"), 0, kMostLength);
  }
  if (node.Has("beam")) {
    experiment.beams = ReadIntegers(node.Member("beam"), 1, kMostBeam);
  }
}

// Takes {"mechanism": "none"} out of the alternatives, and says whether it was
// there.
bool TakePlain(Json& alternatives) {
  if (!alternatives.is_array()) return false;
  Json others = Json::array();
  for (const Json& alternative : alternatives) {
    if (alternative != Json{{"mechanism", kNoAttention}}) {
      others.push_back(alternative);
    }
  }
  const bool found = others.size() < alternatives.size();
  alternatives = std::move(others);
  return found;
}

void CheckAxes(const std::map<std::string, std::vector<Json>>& axes,
               const std::string& where) {
  const std::vector<std::string> valid(std::begin(kDecoderAxes),
                                       std::end(kDecoderAxes));
  for (const auto& [name, values] : axes) {
    if (!Contains(valid, name)) {
      throw UserError(where,
                      UnknownName("axis of a whole decoder", name, valid));
    }
  }
}

// The mechanisms, crossed as a sweep crosses them.
std::vector<Cell> CrossCells(const AxisTable& table, SweepRequest request,
                             const std::vector<Index>& units,
                             const std::string& path) {
  CheckAxes(request.axes, path + ": axes");
  for (const Alternative& alternative : request.alternatives) {
    CheckAxes(alternative.axes, path + ": alternatives");
  }
  if (request.alternatives.empty()) return {};
  request.axes.try_emplace("energy", std::vector<Json>{"additive"});
  request.axes["dim"].assign(units.begin(), units.end());
  std::vector<Cell> cells;
  for (const Point& point : ExpandSweep(table, request).points) {
    cells.insert(cells.end(), point.cells.begin(), point.cells.end());
  }
  return cells;
}

DecoderExperiment ReadProfile(const AxisTable& table, Json document,
                              const std::string& path,
                              const std::string& profile) {
  DecoderExperiment experiment;
  const std::string where = path + ": ";
  const bool is_quick = profile == "quick";
  const auto& keys = OwnKeys();
  ReadOwn({document, where}, experiment);
  for (const std::string& key : keys) document.erase(key);
  if (document.contains("alternatives")) {
    experiment.has_plain = TakePlain(document["alternatives"]);
  }
  if (document.contains("profiles") && document["profiles"].is_object() &&
      document["profiles"].contains("quick")) {
    Json& quick = document["profiles"]["quick"];
    const Node node{quick, where + "profiles.quick"};
    if (quick.is_object()) {
      DecoderExperiment of_quick = experiment;
      ReadOwn(node, of_quick);
      for (const std::string& key : keys) quick.erase(key);
      if (quick.contains("alternatives")) {
        of_quick.has_plain = TakePlain(quick["alternatives"]);
      }
      if (is_quick) experiment = of_quick;
    }
  }
  const SweepRequest request = ReadExperiment(table, document, path, profile);
  experiment.name = request.name;
  experiment.seed = request.seed;
  experiment.repetitions = request.repetitions;
  experiment.cells = CrossCells(table, request, experiment.units, path);
  for (const auto& [key, values] : {std::pair("length", &experiment.lengths),
                                    std::pair("beam", &experiment.beams)}) {
    if (values->empty()) throw UserError(path, std::string("has no ") + key);
  }
  if (experiment.cells.empty() && !experiment.has_plain) {
    throw UserError(where + "alternatives", "names no mechanism");
  }
  return experiment;
}

}  // namespace

DecoderExperiment ReadDecoderExperiment(const AxisTable& table,
                                        const std::string& path,
                                        const std::string& profile) {
  Json document = ReadJsonFile(path);
  if (!document.is_object()) throw UserError(path, "must be an object {...}");
  if (document.value("kind", Json()) != "decoder") {
    throw UserError(path + ": kind",
                    "is not \"decoder\"; an experiment without it is a sweep: "
                    "attnbench run-sweep");
  }
  CheckObject({document, path},
              {"name", "kind", "question", "source", "seed", "repetitions",
               "model", "sequences", "length", "beam", "axes", "options",
               "alternatives", "profiles"});
  document.erase("kind");
  // Whichever is wanted, neither may be wrong.
  if (profile == "quick") ReadProfile(table, document, path, "full");
  return ReadProfile(table, std::move(document), path, profile);
}

std::vector<DecoderSetting> SettingsOf(const DecoderExperiment& experiment) {
  std::vector<DecoderSetting> settings;
  for (const Index units : experiment.units) {
    for (const double share : experiment.memory_shares) {
      for (const Index length : experiment.lengths) {
        for (const Index beam : experiment.beams) {
          settings.push_back({units, share, length, beam});
        }
      }
    }
  }
  return settings;
}

std::vector<const Cell*> CellsOfPoint(const DecoderExperiment& experiment,
                                      const DecoderSetting& setting) {
  std::vector<const Cell*> cells;
  for (const Cell& cell : experiment.cells) {
    if (cell.Int("dim") == setting.units) cells.push_back(&cell);
  }
  return cells;
}

Index CellCount(const DecoderExperiment& experiment,
                const DecoderSetting& setting) {
  return std::ssize(CellsOfPoint(experiment, setting)) +
         (experiment.has_plain ? 1 : 0);
}

std::vector<Index> SourceLengths(std::uint64_t seed, Index longest,
                                 Index num_sequences) {
  std::vector<Index> lengths(Size(num_sequences));
  for (Index n = 0; n < num_sequences; ++n) {
    const Index mirrored = num_sequences - 1 - n;
    if (mirrored <= n) {
      lengths[Size(n)] =
          mirrored == n ? longest / 2 : longest - lengths[Size(mirrored)];
      continue;
    }
    const auto words =
        Philox(seed, kSourceLengthPurpose, static_cast<std::uint32_t>(longest),
               static_cast<std::uint64_t>(n));
    const double place = (static_cast<double>(n) + Uniform24(words[0])) /
                         static_cast<double>(num_sequences);
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

}  // namespace attnbench
