#include "harness/inputs/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "harness/base/arrays.h"
#include "harness/base/error.h"
#include "harness/base/purposes.h"
#include "harness/inputs/captured.h"
#include "harness/inputs/case_file.h"
#include "harness/inputs/declared_inputs.h"
#include "harness/inputs/drawn_parameters.h"
#include "harness/inputs/planted.h"
#include "harness/inputs/symbols.h"
#include "harness/machine/environment.h"
#include "mechanisms/energy/energy_reference.h"

namespace attnbench {
namespace {

constexpr std::size_t kQuantilePairs = 4096;

// Chunk keys and states keep the numbers that results were made with.
std::uint32_t PurposeOf(const std::string& input) {
  if (input == kChunkKeysInput.name) return kChunkKeysPurpose;
  if (input == kChunkStatesInput.name) return kChunkStatesPurpose;
  return NamedPurpose(input);
}

double Element(std::uint64_t seed, std::uint32_t purpose, std::uint32_t stream,
               std::uint64_t element) {
  return SymmetricUniform24(
      Philox(seed, purpose, stream, element / 4)[element % 4]);
}

template <class T>
void Copy(const MatrixView<const double>& from, Array<T>& to) {
  to.resize(Size(from.rows * from.cols));
  std::transform(from.data, from.data + to.size(), to.begin(),
                 [](double value) { return static_cast<T>(value); });
}

// The r of `diagonal`: minus the (1 - U/(T+U)) quantile of the energies of
// random pairs of states and entries, so that an inspection chooses with
// probability U/(T+U). The reference computes it in f32 whatever the precision
// of the point, so every machine and precision gets the same r. All draws have
// the same r, as it is a parameter of the model and not of its input.
float DiagonalBias(const WorkloadSpec& spec, int num_draws, EnergyKind energy) {
  const DrawnParameters<float> parameters(spec.seed);
  Config config;
  config.dim = spec.dim;
  config.energy = energy;
  SequenceInputs<float> inputs;
  inputs.parameters = &parameters;
  const ReferenceEnergy<float> a(config, inputs, EnergyRole::kAttention);
  std::vector<float> state(Size(spec.dim));
  std::vector<float> entry(Size(spec.dim));
  const auto streams = static_cast<std::uint64_t>(num_draws * spec.batch);
  const auto row = [&](std::uint32_t purpose, std::uint32_t stream,
                       std::uint32_t word, Index rows,
                       std::vector<float>& out) {
    const std::uint64_t first =
        word % static_cast<std::uint64_t>(rows) * out.size();
    for (std::size_t k = 0; k < out.size(); ++k) {
      out[k] =
          static_cast<float>(Element(spec.seed, purpose, stream, first + k));
    }
  };
  std::vector<double> energies;
  for (std::size_t pair = 0; pair < kQuantilePairs; ++pair) {
    const auto words = Philox(spec.seed, kPairsPurpose, 0, pair);
    const auto stream = static_cast<std::uint32_t>(words[0] % streams);
    row(kStatesPurpose, stream, words[1], spec.output_length, state);
    row(kMemoryPurpose, stream, words[2], spec.memory_length, entry);
    energies.push_back(a(0, 0, state, entry).value);
  }
  std::sort(energies.begin(), energies.end());
  const auto U = static_cast<double>(spec.output_length);
  const auto T = static_cast<double>(spec.memory_length);
  const auto rank = static_cast<std::size_t>(
      (1 - U / (T + U)) * static_cast<double>(kQuantilePairs));
  return static_cast<float>(-energies[std::min(rank, kQuantilePairs - 1)]);
}

// Fills in p(i, j) = 1 where j >= i + lag - 1.
template <class Real>
void FillWaitK(Index lag, Index outputs, Index entries, Array<Real>& p_choose) {
  p_choose.resize(Size(Times(outputs, entries)));
  for (Index i = 0; i < outputs; ++i) {
    for (Index j = 0; j < entries; ++j) {
      p_choose[Size(i * entries + j)] = j - i >= lag - 1 ? Real{1} : Real{0};
    }
  }
}

template <class Real>
void FillInput(const InputSpec& input, std::uint64_t seed, std::uint32_t stream,
               Index count, Array<Real>& array) {
  Fill(seed, PurposeOf(input.name), stream, count, array);
  if (input.domain != Domain::kProbability) return;
  for (Real& value : array) value = (value + 1) / 2;
}

// Reads the case of a workload file:CASE, which must fit the point.
CaseFile ReadCaseOfPoint(const std::string& path, const WorkloadSpec& spec) {
  CaseFile file = ReadCaseFile(path);
  if (file.Scores().empty() &&
      !(file.Find("states") != nullptr && file.Find("memory") != nullptr)) {
    throw UserError(path + ": inputs",
                    "a sweep wants states and memory, or scores");
  }
  if (spec.batch != 1) {
    throw WorkloadUnsupported(
        fmt::format("{} has one sequence, the batch is {}", path, spec.batch));
  }
  for (const auto& [letter, wanted] : {std::pair('T', spec.memory_length),
                                       {'U', spec.output_length},
                                       {'d', spec.dim}}) {
    const Index length = file.Length(letter);
    if (length == 0 || length == wanted) continue;
    throw WorkloadUnsupported(fmt::format("{} has {} = {}, the point has {}",
                                          path, letter, length, wanted));
  }
  return file;
}

// Reads the energies of a workload captured:FILE, which must fit the point.
CapturedEnergies ReadCapturedOfPoint(const std::string& path,
                                     const WorkloadSpec& spec) {
  CapturedEnergies captured = ReadCaptured(path);
  const Index count = std::ssize(captured.sequences);
  if (captured.longest_memory != spec.memory_length ||
      captured.longest_output != spec.output_length || count != spec.batch) {
    throw WorkloadUnsupported(fmt::format(
        "{} has {} sequences of up to T = {} and U = {}, the point has {}, {} "
        "and {}",
        path, count, captured.longest_memory, captured.longest_output,
        spec.batch, spec.memory_length, spec.output_length));
  }
  return captured;
}

// One sequence of one draw.
template <class Real>
struct SequenceArrays {
  explicit SequenceArrays(ArrayGaps* gaps) : memory(gaps), states(gaps) {}

  Array<Real>& Declared(const std::string& name) {
    return declared.try_emplace(name, memory.get_allocator()).first->second;
  }

  Array<Real> memory;
  Array<Real> states;
  Index entries = 0, outputs = 0;
  std::map<std::string, Array<Real>> declared;  // scores and further inputs
  NamedViews<const Real> scores;                // views of the scores
  NamedViews<const Real> captured;
  NamedViews<const Real> further;
};

template <class Real>
class DrawnWorkload final : public Workload<Real> {
 public:
  DrawnWorkload(const WorkloadSpec& spec, const WorkloadName& name)
      : spec_(spec),
        name_(name),
        parameters_(spec.seed, nullptr, spec.gaps),
        contexts_(spec.gaps) {
    if (name_.kind == WorkloadKind::kFile) {
      file_ = ReadCaseOfPoint(name_.path, spec_);
    } else if (name_.kind == WorkloadKind::kCaptured) {
      captured_ = ReadCapturedOfPoint(name_.path, spec_);
    }
    gives_scores_ = name_.kind == WorkloadKind::kWaitK ||
                    (file_.has_value() && !file_->Scores().empty());
    const Index draw_elements = Times(spec_.batch, SequenceElements());
    const Index draw_bytes = Times(draw_elements, sizeof(double));
    num_draws_ = file_.has_value() || captured_.has_value()
                     ? 1
                     : std::clamp<Index>(kMostDrawBytes / draw_bytes, 1,
                                         spec_.most_draws);
    const Index context_elements =
        Times(spec_.batch, Times(spec_.output_length, spec_.dim));
    CheckFits(Times(Plus(Times(num_draws_, draw_elements), context_elements),
                    sizeof(Real)));
    if (name_.kind == WorkloadKind::kPlanted) {  // says at once if it cannot
      PlantedPath(spec_.seed, 0, spec_.memory_length, spec_.output_length,
                  spec_.dim);
    }
    draws_.resize(Size(num_draws_));
    contexts_.resize(Size(context_elements));
  }

  int num_draws() const override { return static_cast<int>(num_draws_); }

  std::vector<Sequence<Real>> Draw(int draw, EnergyKind energy) override {
    if (name_.kind == WorkloadKind::kPlanted && energy != EnergyKind::kDot) {
      throw WorkloadUnsupported(
          "workload planted solves for states under energy dot only; diagonal "
          "serves the others");
    }
    std::vector<SequenceArrays<Real>>& arrays = draws_.at(Size(draw));
    if (arrays.empty()) arrays = MakeDraw(draw);
    const Real bias = Bias(energy);
    std::vector<Sequence<Real>> batch;
    for (Index b = 0; b < spec_.batch; ++b) {
      SequenceArrays<Real>& of_sequence = arrays[Size(b)];
      Sequence<Real> sequence = View(of_sequence, b);
      sequence.inputs.energy_bias = bias;
      sequence.inputs.stream = Stream(draw, b);
      batch.push_back(sequence);
    }
    return batch;
  }

 private:
  std::uint32_t Stream(int draw, Index sequence) const {
    return static_cast<std::uint32_t>(draw * spec_.batch + sequence);
  }

  Index LengthOf(char letter, Index T, Index U) const {
    return letter == 'T' ? T : letter == 'U' ? U : spec_.dim;
  }

  Index SequenceElements() const {
    const Index T = spec_.memory_length;
    const Index U = spec_.output_length;
    Index elements = Times(T, spec_.dim);
    for (const InputSpec& input : FurtherInputs()) {
      elements = Plus(elements, Times(LengthOf(input.shape[0], T, U),
                                      LengthOf(input.shape[1], T, U)));
    }
    // A draw also has p and chunk energies, or else states.
    if (!gives_scores_) elements = Plus(elements, Times(U, spec_.dim));
    const bool has_tables = gives_scores_ || captured_.has_value() ||
                            name_.kind == WorkloadKind::kSymbols;
    return has_tables ? Plus(elements, Times(2, Times(U, T))) : elements;
  }

  // The inputs that are drawn; inputs of outputs only if there are states.
  std::vector<InputSpec> FurtherInputs() const {
    std::vector<InputSpec> drawn = AllFurtherInputs();
    std::erase_if(drawn, [this](const InputSpec& input) {
      return gives_scores_ && input.shape[0] == 'U';
    });
    return drawn;
  }

  std::vector<SequenceArrays<Real>> MakeDraw(int draw) const {
    std::vector<SequenceArrays<Real>> arrays(Size(spec_.batch),
                                             SequenceArrays<Real>(spec_.gaps));
    for (Index b = 0; b < spec_.batch; ++b) {
      SequenceArrays<Real>& of_sequence = arrays[Size(b)];
      const std::uint32_t stream = Stream(draw, b);
      of_sequence.entries = spec_.memory_length;
      of_sequence.outputs = spec_.output_length;
      if (captured_) Capture(captured_->sequences[Size(b)], of_sequence);
      if (name_.kind == WorkloadKind::kSymbols)
        MakeSymbols(stream, of_sequence);
      MakeMemory(stream, of_sequence);
      MakeFurther(stream, of_sequence);
      if (gives_scores_) {
        MakeScores(stream, of_sequence);
      } else {
        MakeStates(stream, of_sequence);
      }
    }
    return arrays;
  }

  void Capture(const CapturedSequence& sequence,
               SequenceArrays<Real>& arrays) const {
    arrays.entries = sequence.energies.cols;
    arrays.outputs = sequence.energies.rows;
    const auto keep = [&](const InputSpec& input, const Table<float>& table) {
      Array<Real>& array = arrays.Declared(input.name);
      array.assign(table.values.begin(), table.values.end());
      arrays.captured.Set(input.name, {array.data(), table.rows, table.cols});
    };
    keep(kEnergiesInput, sequence.energies);
    keep(kChunkEnergiesInput, sequence.chunk_energies);
  }

  void MakeSymbols(std::uint32_t stream, SequenceArrays<Real>& arrays) const {
    const std::vector<float> energies =
        SymbolEnergies(spec_.seed, stream, arrays.entries, arrays.outputs,
                       name_.sharpness, name_.background);
    Array<Real>& array = arrays.Declared(kEnergiesInput.name);
    array.assign(energies.begin(), energies.end());
    arrays.captured.Set(kEnergiesInput.name,
                        {array.data(), arrays.outputs, arrays.entries});
  }

  void MakeMemory(std::uint32_t stream, SequenceArrays<Real>& arrays) const {
    if (file_.has_value() && file_->Find("memory") != nullptr) {
      Copy(file_->View("memory"), arrays.memory);
    } else {
      Fill(spec_.seed, kMemoryPurpose, stream, arrays.entries * spec_.dim,
           arrays.memory);
    }
  }

  void MakeFurther(std::uint32_t stream, SequenceArrays<Real>& arrays) const {
    for (const InputSpec& input : FurtherInputs()) {
      const auto [rows, cols] =
          std::pair(LengthOf(input.shape[0], arrays.entries, arrays.outputs),
                    LengthOf(input.shape[1], arrays.entries, arrays.outputs));
      Array<Real>& array = arrays.Declared(input.name);
      if (file_.has_value() && file_->Find(input.name) != nullptr) {
        Copy(file_->View(input.name), array);
      } else {
        FillInput(input, spec_.seed, stream, rows * cols, array);
      }
      arrays.further.Set(input.name, {array.data(), rows, cols});
    }
  }

  void MakeStates(std::uint32_t stream, SequenceArrays<Real>& arrays) const {
    const Index count = arrays.outputs * spec_.dim;
    if (file_.has_value()) {
      Copy(file_->View("states"), arrays.states);
    } else if (name_.kind == WorkloadKind::kPlanted) {
      const std::vector<Index> path =
          PlantedPath(spec_.seed, stream, spec_.memory_length,
                      spec_.output_length, spec_.dim);
      const std::vector<float> states =
          PlantedStates(MemoryView(arrays), path, spec_.seed, stream);
      arrays.states.assign(states.begin(), states.end());
    } else {
      Fill(spec_.seed, kStatesPurpose, stream, count, arrays.states);
    }
  }

  void MakeScores(std::uint32_t stream, SequenceArrays<Real>& arrays) const {
    const Index T = spec_.memory_length;
    const Index U = spec_.output_length;
    if (!file_.has_value()) {
      Array<Real>& p = arrays.Declared(kProbabilitiesInput.name);
      FillWaitK(name_.lag, U, T, p);
      arrays.scores.Set(kProbabilitiesInput.name, {p.data(), U, T});
      Array<Real>& chunk = arrays.Declared(kChunkEnergiesInput.name);
      Fill(spec_.seed, kChunkEnergiesPurpose, stream, U * T, chunk);
      arrays.scores.Set(kChunkEnergiesInput.name, {chunk.data(), U, T});
      return;
    }
    for (const auto& [name, from] : file_->Scores()) {
      Array<Real>& to = arrays.Declared(name);
      Copy(from, to);
      arrays.scores.Set(name, {to.data(), from.rows, from.cols});
    }
  }

  MatrixView<const Real> MemoryView(const SequenceArrays<Real>& arrays) const {
    return {arrays.memory.data(), arrays.entries, spec_.dim};
  }

  Sequence<Real> View(const SequenceArrays<Real>& arrays, Index b) {
    const Index U = arrays.outputs;
    const Index d = spec_.dim;
    Sequence<Real> sequence;
    sequence.inputs.parameters = &parameters_;
    sequence.inputs.seed = spec_.seed;
    sequence.inputs.expected_length = arrays.entries;
    sequence.inputs.scores = arrays.scores;
    sequence.inputs.captured = arrays.captured;
    sequence.inputs.further = arrays.further;
    sequence.memory = MemoryView(arrays);
    if (!gives_scores_) sequence.states = {arrays.states.data(), U, d};
    sequence.contexts = {contexts_.data() + b * spec_.output_length * d, U, d};
    return sequence;
  }

  Real Bias(EnergyKind energy) {
    if (name_.kind == WorkloadKind::kBias) return name_.bias;
    if (name_.kind != WorkloadKind::kDiagonal) return 0;
    const auto found = diagonal_bias_.find(energy);
    if (found != diagonal_bias_.end()) return found->second;
    return diagonal_bias_[energy] = DiagonalBias(spec_, num_draws(), energy);
  }

  const WorkloadSpec spec_;
  const WorkloadName name_;
  const DrawnParameters<Real> parameters_;
  std::optional<CaseFile> file_;
  std::optional<CapturedEnergies> captured_;
  bool gives_scores_ = false;
  Index num_draws_ = 1;
  std::vector<std::vector<SequenceArrays<Real>>> draws_;  // empty until asked
  Array<Real> contexts_;
  std::map<EnergyKind, float> diagonal_bias_;
};

}  // namespace

template <class Real>
std::unique_ptr<Workload<Real>> MakeWorkload(const WorkloadSpec& spec) {
  const WorkloadName name = ParseWorkload(spec.workload);
  if (name.kind == WorkloadKind::kCopy) {
    throw WorkloadUnsupported(
        "workload copy:S is of whole decoders: scope decoder only");
  }
  return std::make_unique<DrawnWorkload<Real>>(spec, name);
}

template std::unique_ptr<Workload<float>> MakeWorkload(const WorkloadSpec&);
template std::unique_ptr<Workload<double>> MakeWorkload(const WorkloadSpec&);

}  // namespace attnbench
