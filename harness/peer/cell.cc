#include "harness/peer/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "harness/base/printable.h"
#include "harness/inputs/asked_parameters.h"

namespace attnbench {

// Writes the arrays of a message, one after another, to one file.
class ArrayWriter {
 public:
  explicit ArrayWriter(const std::string& path)
      : path_(path), file_(path, std::ios::binary | std::ios::trunc) {}

  template <class Real>
  ArrayPlace Add(const MatrixView<const Real>& array) {
    const ArrayPlace place = {offset_, array.rows, array.cols};
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

// Removes the file at the end, as arrays of a large cell fill a disk.
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

// Reads the arrays that a peer wrote.
template <class Real>
class ArrayReader {
 public:
  explicit ArrayReader(const std::string& path)
      : file_(path, std::ios::binary) {}

  void Read(const ArrayPlace& place, const std::string& name,
            const MatrixView<Real>& to) {
    if (place.rows != to.rows || place.columns != to.cols) {
      throw PeerError(fmt::format("gave {} as [{}, {}], must be [{}, {}]", name,
                                  place.rows, place.columns, to.rows, to.cols));
    }
    file_.clear();
    file_.seekg(place.offset);
    for (Index r = 0; r < place.rows; ++r) {
      const auto bytes = std::as_writable_bytes(to.Row(r));
      file_.read(reinterpret_cast<char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    }
    if (!file_) throw PeerError(fmt::format("gave a file without {}", name));
  }

 private:
  std::ifstream file_;
};

// More trials take longer. A peer that tells less than this share of that does
// not tell nanoseconds.
constexpr double kLeastTold = 0.01;
constexpr double kClearlyLongerNs = 0.05e9;

std::int64_t NextNumber() {
  static std::int64_t last = 0;
  return ++last;
}

// Finds an array in a list. Throws PeerError if it is not there.
const ArrayPlace& Find(const ArrayPlaces& arrays, const std::string& name) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) {
    throw PeerError(fmt::format("gave a sequence without '{}'", name));
  }
  return found->second;
}

template <class Real>
SequenceMessage MessageOf(const TrainingSequence<Real>& one, Index outputs,
                          ArrayWriter& writer) {
  const Sequence<Real>& sequence = one.sequence;
  SequenceMessage message = {.outputs = outputs,
                             .energy_bias = sequence.inputs.energy_bias,
                             .energy_scale = sequence.inputs.energy_scale};
  const auto add = [&writer](ArrayPlaces& to, const std::string& name,
                             const MatrixView<const Real>& array) {
    if (array.data != nullptr) to[name] = writer.Add<Real>(array);
  };
  add(message.arrays, "memory", sequence.memory);
  add(message.arrays, "states", sequence.states);
  for (const auto& [name, array] : sequence.inputs.further) {
    add(message.arrays, name, array);
  }
  for (const auto& [name, array] : sequence.inputs.scores) {
    add(message.given, name, array);
  }
  add(message.cotangent, "attention", one.cotangent.attention);
  add(message.cotangent, "contexts", one.cotangent.contexts);
  for (const NamedArray<Real>& array : OutputsOf(one)) {
    message.wanted.push_back(array.name);
  }
  return message;
}

template <class Real>
Index OutputsIn(const TrainingSequence<Real>& one) {
  return one.expectation.attention.data != nullptr
             ? one.expectation.attention.rows
             : one.sequence.contexts.rows;
}

// Reads an answer into the sequence's own arrays and parameters.
template <class Real>
void ReadSequence(const SequenceAnswer& answer,
                  const TrainingSequence<Real>& one,
                  ArrayReader<Real>& reader) {
  std::set<std::string> wanted;
  for (const NamedArray<Real>& array : OutputsOf(one)) {
    wanted.insert(array.name);
    reader.Read(Find(answer.arrays, array.name), array.name, array.values);
  }
  constexpr std::string_view kPrefix = "gradient of ";
  for (const auto& [name, place] : answer.arrays) {
    if (wanted.contains(name)) continue;
    if (one.gradients.parameters == nullptr || !name.starts_with(kPrefix)) {
      throw PeerError(
          fmt::format("gave '{}', which is not wanted", Shortened(name)));
    }
    reader.Read(place, name,
                one.gradients.parameters->Matrix(name.substr(kPrefix.size()),
                                                 place.rows, place.columns));
  }
}

// The positions; empty for mechanisms that choose no entry.
std::vector<Index> PositionsOf(const SequenceAnswer& answer, Index outputs,
                               Index length) {
  std::vector<Index> positions =
      answer.positions.value_or(std::vector<Index>(Size(outputs), -1));
  for (const Index position : positions) {
    if (position < length) continue;
    throw PeerError(fmt::format("gave {} as a position", position));
  }
  if (std::ssize(positions) != outputs) {
    throw PeerError(fmt::format("gave {} positions of {} outputs",
                                positions.size(), outputs));
  }
  return positions;
}

}  // namespace

PeerDraws::PeerDraws(Peer& peer,
                     std::function<PrepareCall(const std::string&)> describe)
    : peer_(peer), describe_(std::move(describe)), number_(NextNumber()) {
  Prepare();
}

PeerDraws::~PeerDraws() {
  try {
    if (peer_.StillRuns(generation_)) {
      peer_.Call(ReleaseCall{.cell = number_});
    }
  } catch (const std::exception&) {
    // The peer is gone, with its draws; a cell that still needs it will say so.
    return;
  }
}

void PeerDraws::Prepare() {
  const TemporaryFile file(peer_.Path("inputs"));
  PrepareCall request = describe_(file.path());
  request.cell = number_;
  peer_.Call(request);
  generation_ = peer_.generation();
}

double PeerDraws::TimeNs(std::span<const int> draws, Index first_trial,
                         Index trials) {
  if (!peer_.StillRuns(generation_)) Prepare();
  const TimeCall call = {.cell = number_,
                         .draws = {draws.begin(), draws.end()},
                         .first = first_trial,
                         .trials = trials};
  const auto begin = std::chrono::steady_clock::now();
  const TimeAnswer answer = peer_.Ask<TimeAnswer>(call);
  const double elapsed = answer.elapsed_ns;
  const std::chrono::duration<double, std::nano> passed =
      std::chrono::steady_clock::now() - begin;
  if (elapsed > passed.count()) {
    throw PeerError(
        fmt::format("says that {} trials took {} ns, {:.0f} ns have passed",
                    trials, elapsed, passed.count()));
  }
  CheckUnit({trials, passed.count(), elapsed});
  if (!answer.page_faults) page_faults_.reset();
  if (page_faults_) *page_faults_ += *answer.page_faults;
  return elapsed / static_cast<double>(trials);
}

// What a peer does untimed, such as compiling, does not grow with the number of
// trials; it may by chance, but not twice in a row.
void PeerDraws::CheckUnit(const Took& call) {
  const double passed = call.passed_ns - last_.passed_ns;
  const bool is_longer =
      call.trials > last_.trials && last_.trials > 0 &&
      passed > std::max(kClearlyLongerNs, call.passed_ns / 4);
  const bool is_too_short =
      is_longer && call.told_ns - last_.told_ns < kLeastTold * passed;
  last_ = call;
  num_too_short_ = is_too_short ? num_too_short_ + 1 : 0;
  if (num_too_short_ < 2) return;
  throw PeerError(fmt::format(
      "says that {} trials took {} ns, {:.0f} ns have passed: is its time in "
      "nanoseconds?",
      call.trials, call.told_ns, call.passed_ns));
}

OutputAnswer PeerDraws::Output(int draw, const std::string& file) {
  if (!peer_.StillRuns(generation_)) Prepare();
  return peer_.Ask<OutputAnswer>(
      OutputCall{.cell = number_, .draw = draw, .file = file});
}

template <class Real>
PeerCell<Real>::PeerCell(Peer& peer, const Cell& cell, const Config& config,
                         const Mechanism<Real>& mechanism)
    : peer_(peer), cell_(cell), config_(config), mechanism_(mechanism) {}

template <class Real>
bool PeerCell<Real>::must_agree() const {
  return config_.mode == Mode::kDecode || !cell_.peer_approximates;
}

// Our own decoder makes one output, which shows the parameters that there are.
template <class Real>
ArrayPlaces PeerCell<Real>::Parameters(const Sequence<Real>& sequence,
                                       ArrayWriter& writer) {
  ArrayPlaces places;
  if (!sequence.inputs.scores.empty()) return places;
  const AskedParameters<Real> parameters(*sequence.inputs.parameters);
  Config config = config_;
  config.variant = "exact";
  config.mode = Mode::kDecode;
  config.schedule = Schedule::kOnline;
  std::vector<Real> context(Size(config.dim));
  Sequence<Real> first = sequence;
  first.inputs.parameters = &parameters;
  first.memory = first.memory.Rows(0, 1);
  first.contexts = {context.data(), 1, config.dim};
  DecodeSequence(mechanism_, config, first,
                 [](Index, const StepResult<Real>&) {});
  for (const auto& [name, array] : parameters.asked()) {
    places[name] = writer.Add<Real>(array);
  }
  return places;
}

template <class Real>
PrepareCall PeerCell<Real>::Describe(const std::vector<Batch>& draws,
                                     const std::string& file) {
  ArrayWriter writer(file);
  PrepareCall request = {
      .axes = {cell_.axes.begin(), cell_.axes.end()},
      .options = cell_.options,
      .file = file,
      .parameters = Parameters(draws.at(0)[0].sequence, writer)};
  request.axes["mechanism"] = cell_.mechanism;
  for (const Batch& batch : draws) {
    std::vector<SequenceMessage> sequences;
    for (const TrainingSequence<Real>& one : batch) {
      sequences.push_back(MessageOf(one, OutputsIn(one), writer));
    }
    request.draws.push_back(std::move(sequences));
  }
  writer.Finish();
  return request;
}

namespace {

// Decoding asks for contexts only.
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

// The answer's sequences, after everything of `batch` was read from its file.
template <class Real>
std::vector<SequenceAnswer> PeerCell<Real>::Run(Batch batch) {
  PeerDraws held(
      peer_, [&](const std::string& file) { return Describe({batch}, file); });
  const TemporaryFile file(peer_.Path("outputs"));
  std::vector<SequenceAnswer> sequences = held.Output(0, file.path()).sequences;
  if (sequences.size() != batch.size()) {
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
  const std::vector<SequenceAnswer> sequences = Run(all);
  std::vector<std::vector<Index>> positions;
  for (std::size_t b = 0; b < batch.size(); ++b) {
    positions.push_back(PositionsOf(sequences[b], batch[b].contexts.rows,
                                    batch[b].memory.rows));
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
