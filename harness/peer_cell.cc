#include "harness/peer_cell.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "harness/asked_parameters.h"
#include "harness/gate_training.h"
#include "harness/score_fields.h"

namespace attnbench {

// The arrays of a message, one after another in one file.
class ArrayWriter {
 public:
  explicit ArrayWriter(const std::string& path)
      : path_(path), file_(path, std::ios::binary | std::ios::trunc) {}

  template <class Real>
  Json Add(const MatrixView<const Real>& array) {
    Json place = {
        {"offset", offset_}, {"rows", array.rows}, {"columns", array.cols}};
    for (Index r = 0; r < array.rows; ++r) {
      const auto bytes = std::as_bytes(array.Row(r));
      file_.write(reinterpret_cast<const char*>(bytes.data()),
                  static_cast<std::streamsize>(bytes.size()));
      offset_ += static_cast<Index>(bytes.size());
    }
    return place;
  }

  void Finish() {
    file_.close();
    if (file_.fail()) throw PeerError("its arrays cannot be written: " + path_);
  }

 private:
  const std::string path_;
  std::ofstream file_;
  Index offset_ = 0;
};

namespace {

// Removes the file when it goes: arrays of a large cell fill a disk.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// The arrays that a peer wrote.
template <class Real>
class ArrayReader {
 public:
  explicit ArrayReader(const std::string& path)
      : file_(path, std::ios::binary) {}

  void Read(const Json& place, const std::string& name,
            const MatrixView<Real>& to) {
    const Index rows = Whole(place, "rows", name);
    const Index cols = Whole(place, "columns", name);
    if (rows != to.rows || cols != to.cols) {
      throw PeerError(fmt::format("gave {} as [{}, {}], [{}, {}] is wanted",
                                  name, rows, cols, to.rows, to.cols));
    }
    file_.clear();
    file_.seekg(Whole(place, "offset", name));
    for (Index r = 0; r < rows; ++r) {
      const auto bytes = std::as_writable_bytes(to.Row(r));
      file_.read(reinterpret_cast<char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    }
    if (!file_) throw PeerError(fmt::format("gave a file without {}", name));
  }

  static Index Whole(const Json& object, const char* key,
                     const std::string& name) {
    if (!object.is_object() || !object.contains(key) ||
        !object[key].is_number_unsigned()) {
      throw PeerError(
          fmt::format("gave {} without the whole number '{}'", name, key));
    }
    return object[key].template get<Index>();
  }

 private:
  std::ifstream file_;
};

std::int64_t NextNumber() {
  static std::int64_t last = 0;
  return ++last;
}

// The element of that name of an answer.
const Json& Member(const Json& object, const std::string& key,
                   const std::string& owner) {
  if (!object.is_object() || !object.contains(key)) {
    throw PeerError(fmt::format("gave {} without '{}'", owner, key));
  }
  return object.at(key);
}

template <class Real>
Json SequenceJson(const TrainingSequence<Real>& one, Index outputs,
                  ArrayWriter& writer) {
  const Sequence<Real>& sequence = one.sequence;
  Json json = {{"outputs", outputs},
               {"energy_bias", sequence.inputs.energy_bias},
               {"energy_scale", sequence.inputs.energy_scale}};
  const auto add = [&writer](Json& to, const char* name,
                             const MatrixView<const Real>& array) {
    if (array.data != nullptr) to[name] = writer.Add<Real>(array);
  };
  add(json, "memory", sequence.memory.memory);
  add(json, "chunk_keys", sequence.memory.chunk_keys);
  add(json, "states", sequence.states);
  add(json, "chunk_states", sequence.chunk_states);
  json["given"] = Json::object();
  if (const GivenScores<Real>* const given = sequence.inputs.given) {
    for (const ScoreField<Real>& field : kScoreFields<Real>) {
      add(json["given"], field.name, given->*field.given);
    }
  }
  json["cotangent"] = Json::object();
  add(json["cotangent"], "attention", one.cotangent.attention);
  add(json["cotangent"], "contexts", one.cotangent.contexts);
  json["wanted"] = Json::array();
  for (const NamedArray<Real>& array : OutputsOf(one)) {
    json["wanted"].push_back(array.name);
  }
  return json;
}

template <class Real>
Index OutputsIn(const TrainingSequence<Real>& one) {
  return one.expectation.attention.data != nullptr
             ? one.expectation.attention.rows
             : one.sequence.contexts.rows;
}

// Into the sequence's own arrays, and parameters.
template <class Real>
void ReadSequence(const Json& answer, const TrainingSequence<Real>& one,
                  ArrayReader<Real>& reader) {
  const Json& arrays = Member(answer, "arrays", "a sequence");
  std::set<std::string> wanted;
  for (const NamedArray<Real>& array : OutputsOf(one)) {
    wanted.insert(array.name);
    reader.Read(Member(arrays, array.name, "a sequence"), array.name,
                array.values);
  }
  constexpr std::string_view kPrefix = "gradient of ";
  for (const auto& [name, place] : arrays.items()) {
    if (wanted.contains(name)) continue;
    if (one.gradients.parameters == nullptr || !name.starts_with(kPrefix)) {
      throw PeerError(fmt::format("gave '{}', which is not wanted", name));
    }
    reader.Read(place, name,
                one.gradients.parameters->Matrix(
                    name.substr(kPrefix.size()),
                    ArrayReader<Real>::Whole(place, "rows", name),
                    ArrayReader<Real>::Whole(place, "columns", name)));
  }
}

std::vector<Index> ReadPositions(const Json& answer, Index outputs,
                                 Index length) {
  std::vector<Index> positions;
  if (answer.contains("positions")) {
    for (const Json& position : answer["positions"]) {
      if (!position.is_number_integer() || position < -1 ||
          position >= length) {
        throw PeerError(fmt::format("gave {} as a position", position.dump()));
      }
      positions.push_back(position.get<Index>());
    }
  } else {
    positions.assign(Size(outputs), -1);
  }
  if (static_cast<Index>(positions.size()) != outputs) {
    throw PeerError(fmt::format("gave {} positions of {} outputs",
                                positions.size(), outputs));
  }
  return positions;
}

}  // namespace

PeerDraws::PeerDraws(Peer& peer,
                     std::function<Json(const std::string&)> describe)
    : peer_(peer), describe_(std::move(describe)), number_(NextNumber()) {
  Prepare();
}

PeerDraws::~PeerDraws() {
  try {
    if (peer_.StillRuns(generation_)) {
      peer_.Call({{"call", "release"}, {"cell", number_}});
    }
  } catch (const std::exception&) {
    // It is gone, and the draws with it; a cell that still needs it will say.
    return;
  }
}

void PeerDraws::Prepare() {
  const TemporaryFile file(peer_.Path("inputs"));
  Json request = describe_(file.path());
  request["call"] = "prepare";
  request["cell"] = number_;
  peer_.Call(request);
  generation_ = peer_.generation();
}

double PeerDraws::TimeNs(std::span<const int> draws, Index first_trial,
                         Index trials) {
  if (!peer_.StillRuns(generation_)) Prepare();
  Json list = Json::array();
  for (const int draw : draws) list.push_back(draw);
  const auto begin = std::chrono::steady_clock::now();
  const Json answer = peer_.Call({{"call", "time"},
                                  {"cell", number_},
                                  {"draws", std::move(list)},
                                  {"first", first_trial},
                                  {"trials", trials}});
  const std::chrono::duration<double, std::nano> passed =
      std::chrono::steady_clock::now() - begin;
  const Json& elapsed = Member(answer, "elapsed_ns", "times");
  if (!elapsed.is_number() || !(elapsed.get<double>() > 0) ||
      elapsed.get<double>() > passed.count()) {
    throw PeerError(
        fmt::format("says that {} trials took {} ns, {:.0f} ns have passed",
                    trials, elapsed.dump(), passed.count()));
  }
  return elapsed.get<double>() / static_cast<double>(trials);
}

Json PeerDraws::Output(int draw, const std::string& file) {
  if (!peer_.StillRuns(generation_)) Prepare();
  return peer_.Call(
      {{"call", "output"}, {"cell", number_}, {"draw", draw}, {"file", file}});
}

template <class Real>
PeerCell<Real>::PeerCell(Peer& peer, const Cell& cell, const Config& config,
                         const Mechanism<Real>& mechanism)
    : peer_(peer), cell_(cell), config_(config), mechanism_(mechanism) {}

template <class Real>
bool PeerCell<Real>::must_agree() const {
  return config_.mode == "decode" || !cell_.peer_approximates;
}

// Which parameters there are shows when our own decoder makes one output.
template <class Real>
Json PeerCell<Real>::Parameters(const Sequence<Real>& sequence,
                                ArrayWriter& writer) {
  Json json = Json::object();
  if (sequence.inputs.given != nullptr) return json;
  const AskedParameters<Real> parameters(*sequence.inputs.parameters);
  Config config = config_;
  config.variant = "exact";
  config.mode = "decode";
  config.schedule = "online";
  std::vector<Real> context(Size(config.dim));
  Sequence<Real> first = sequence;
  first.inputs.parameters = &parameters;
  first.memory = first.memory.Rows(0, 1);
  first.contexts = {context.data(), 1, config.dim};
  DecodeSequence(mechanism_, config, first,
                 [](Index, const StepResult<Real>&) {});
  for (const auto& [name, array] : parameters.asked()) {
    json[name] = writer.Add<Real>(array);
  }
  return json;
}

template <class Real>
Json PeerCell<Real>::Describe(const std::vector<Batch>& draws,
                              const std::string& file) {
  ArrayWriter writer(file);
  Json axes = {{"mechanism", cell_.mechanism}};
  axes.update(cell_.axes);
  Json request = {{"axes", std::move(axes)},
                  {"options", OptionsJson(cell_)},
                  {"file", file},
                  {"parameters", Parameters(draws.at(0)[0].sequence, writer)},
                  {"draws", Json::array()}};
  for (const Batch& batch : draws) {
    Json sequences = Json::array();
    for (const TrainingSequence<Real>& one : batch) {
      sequences.push_back(SequenceJson(one, OutputsIn(one), writer));
    }
    request["draws"].push_back(std::move(sequences));
  }
  writer.Finish();
  return request;
}

namespace {

// Decoding wants contexts, and no more.
template <class Real>
std::vector<TrainingSequence<Real>> AsTraining(
    std::span<const Sequence<Real>> batch) {
  std::vector<TrainingSequence<Real>> all;
  for (const Sequence<Real>& sequence : batch) {
    all.emplace_back().sequence = sequence;
  }
  return all;
}

}  // namespace

template <class Real>
std::unique_ptr<PeerDraws> PeerCell<Real>::Hold(
    const std::vector<std::vector<Sequence<Real>>>& draws) {
  return std::make_unique<PeerDraws>(
      peer_, [this, &draws](const std::string& file) {
        std::vector<std::vector<TrainingSequence<Real>>> all;
        for (const auto& batch : draws) {
          all.push_back(AsTraining(std::span(batch)));
        }
        return Describe({all.begin(), all.end()}, file);
      });
}

template <class Real>
std::unique_ptr<PeerDraws> PeerCell<Real>::Hold(
    const std::vector<TrainingBatch<Real>>& draws) {
  return std::make_unique<PeerDraws>(peer_,
                                     [this, &draws](const std::string& file) {
                                       std::vector<Batch> all;
                                       for (const auto& batch : draws)
                                         all.emplace_back(batch.sequences);
                                       return Describe(all, file);
                                     });
}

// The answer's sequences, with everything of `batch` read from its file.
template <class Real>
Json PeerCell<Real>::Run(Batch batch) {
  PeerDraws held(
      peer_, [&](const std::string& file) { return Describe({batch}, file); });
  const TemporaryFile file(peer_.Path("outputs"));
  Json sequences =
      Member(held.Output(0, file.path()), "sequences", "an output");
  if (!sequences.is_array() || sequences.size() != batch.size()) {
    throw PeerError(fmt::format("gave no list of {} sequences", batch.size()));
  }
  ArrayReader<Real> reader(file.path());
  for (std::size_t b = 0; b < batch.size(); ++b) {
    ReadSequence(sequences[b], batch[b], reader);
  }
  return sequences;
}

template <class Real>
std::vector<std::vector<Index>> PeerCell<Real>::Decode(
    std::span<const Sequence<Real>> batch) {
  const std::vector<TrainingSequence<Real>> all = AsTraining(batch);
  const Json sequences = Run(all);
  std::vector<std::vector<Index>> positions;
  for (std::size_t b = 0; b < batch.size(); ++b) {
    positions.push_back(ReadPositions(sequences[b], batch[b].contexts.rows,
                                      batch[b].memory.memory.rows));
  }
  return positions;
}

template <class Real>
void PeerCell<Real>::Train(Batch batch) {
  Run(batch);
}

template class PeerCell<float>;
template class PeerCell<double>;

}  // namespace attnbench
