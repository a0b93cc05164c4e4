#include "harness/sweep/decoder_experiment.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/json_file.h"
#include "harness/base/purposes.h"
#include "harness/sweep/experiment_document.h"

namespace attnbench {
namespace {

// Each value once; what is not said stays.
template <class Value, class To>
void TakeEach(const OneOrMore<Value>& said, std::vector<To>& values) {
  if (said.values.empty()) return;
  values.clear();
  for (const Value& value : said.values) {
    if (std::ranges::find(values, value) == values.end()) {
      values.push_back(value);
    }
  }
}

void CheckAxes(const std::map<std::string, std::vector<AxisValue>>& axes,
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
  request.axes.try_emplace("energy", std::vector<AxisValue>{"additive"});
  request.axes["dim"].assign(units.begin(), units.end());
  std::vector<Cell> cells;
  for (const Point& point : ExpandSweep(table, request).points) {
    cells.insert(cells.end(), point.cells.begin(), point.cells.end());
  }
  return cells;
}

// The experiment of a profile, and its mechanisms before they are crossed.
struct Asked {
  DecoderExperiment experiment;
  SweepRequest request;
};

void TakeAlternatives(const AxisTable& table,
                      const std::vector<DecoderAlternativeDocument>& said,
                      const Place& place, Asked& asked) {
  asked.request.alternatives.clear();
  asked.experiment.has_plain = false;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const Place at(place, i);
    Alternative one = AlternativeOf(table, said[i], at);
    if (one.mechanism != kNoAttention) {
      asked.request.alternatives.push_back(std::move(one));
      continue;
    }
    if (!one.axes.empty() || !one.options.empty()) {
      FailAt(at, "mechanism none has no axes and no options");
    }
    asked.experiment.has_plain = true;
  }
}

// What the file or a profile of it says; the rest stays.
void TakeProfile(const AxisTable& table, const DecoderProfileDocument& said,
                 const Place& place, Asked& asked) {
  DecoderExperiment& experiment = asked.experiment;
  experiment.repetitions = said.repetitions.value_or(experiment.repetitions);
  experiment.vocabulary = said.model.vocabulary.value_or(experiment.vocabulary);
  TakeEach(said.model.units, experiment.units);
  TakeEach(said.model.memory_share, experiment.memory_shares);
  experiment.num_sequences = said.sequences.value_or(experiment.num_sequences);
  TakeEach(said.length, experiment.lengths);
  TakeEach(said.beam, experiment.beams);
  TakeAxes(table, said.axes, Place(place, "axes"), asked.request.axes);
  if (!said.alternatives) return;
  TakeAlternatives(table, *said.alternatives, Place(place, "alternatives"),
                   asked);
}

DecoderExperiment Crossed(const AxisTable& table, Asked asked,
                          const std::string& path) {
  DecoderExperiment& experiment = asked.experiment;
  experiment.cells = CrossCells(table, asked.request, experiment.units, path);
  for (const auto& [key, values] : {std::pair("length", &experiment.lengths),
                                    std::pair("beam", &experiment.beams)}) {
    if (values->empty()) throw UserError(path, std::string("has no ") + key);
  }
  if (experiment.cells.empty() && !experiment.has_plain) {
    throw UserError(path + ": alternatives", "names no mechanism");
  }
  return experiment;
}

}  // namespace

DecoderExperiment ReadDecoderExperiment(const AxisTable& table,
                                        const std::string& path,
                                        const std::string& profile) {
  const Json json = ReadJsonFile(path);
  const Place file(path);
  document::CheckIsObject(json, file);
  if (!IsOfDecoder(json)) {
    FailAt(Place(file, "kind"),
           "is not \"decoder\"; an experiment without it is a sweep: "
           "attnbench run-sweep");
  }
  const auto said = FromJson<DecoderExperimentDocument>(json, file);
  Asked full;
  full.experiment.name = said.name;
  full.experiment.seed = static_cast<std::uint64_t>(said.seed);
  full.request.options = OptionsOf(said.options);
  TakeProfile(table, said, file, full);
  Asked quick = full;
  const Place profiles(file, "profiles");
  if (said.profiles.quick) {
    TakeProfile(table, *said.profiles.quick, Place(profiles, "quick"), quick);
  }
  // Whichever is wanted, neither may be wrong.
  const DecoderExperiment of_full = Crossed(table, std::move(full), path);
  if (profile == "full") return of_full;
  if (!said.profiles.quick) FailAt(profiles, "there is no profile 'quick'");
  return Crossed(table, std::move(quick), path);
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
