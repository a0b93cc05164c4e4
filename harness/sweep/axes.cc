#include "harness/sweep/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <regex>
#include <set>

#include "harness/base/error.h"
#include "harness/base/parse_text.h"
#include "harness/base/printable.h"
#include "harness/model/weights.h"
#include "harness/sweep/workload_name.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

constexpr std::int64_t kGreatestDim = std::int64_t{1} << 20;
constexpr std::int64_t kGreatestThreads = 1024;
constexpr std::int64_t kGreatestBeam = 1000;
constexpr std::int64_t kGreatestLayers = 64;
constexpr std::int64_t kGreatestVocabulary = std::int64_t{1} << 22;

// The variants of all mechanisms, each once, in their order.
std::vector<std::string> VariantNames() {
  std::vector<std::string> names;
  for (const auto* mechanism : Mechanisms<float>()) {
    for (const VariantSpec& variant : mechanism->Describe().variants) {
      if (!Contains(names, variant.name)) names.push_back(variant.name);
    }
  }
  return names;
}

Axis IntegerAxis(std::string name, std::string letter, std::int64_t greatest,
                 std::string default_value, std::string help) {
  Axis axis;
  axis.name = std::move(name);
  axis.letter = std::move(letter);
  axis.greatest = greatest;
  axis.default_value = std::move(default_value);
  axis.help = std::move(help);
  return axis;
}

Axis NameAxis(std::string name, std::vector<std::string> names,
              std::string default_value, std::string help) {
  Axis axis;
  axis.name = std::move(name);
  axis.type = AxisType::kName;
  axis.names = std::move(names);
  axis.default_value = std::move(default_value);
  axis.help = std::move(help);
  return axis;
}

template <Named Value>
Axis NameAxis(std::string name, Value default_value, std::string help) {
  return NameAxis(std::move(name), NamesOf<Value>(), NameOf(default_value),
                  std::move(help));
}

Axis OfPoint(Axis axis) {
  axis.of_point = true;
  return axis;
}

Axis Declared(Axis axis) {
  axis.declared = true;
  return axis;
}

Axis OfDecoder(Axis axis) {
  axis.of_decoder = true;
  return OfPoint(std::move(axis));
}

Axis MayBeAbsent(Axis axis) {
  axis.may_be_absent = true;
  return axis;
}

Axis WithTrainingDefault(std::string value, Axis axis) {
  axis.training_default = std::move(value);
  return axis;
}

// The option of a mechanism for which the papers have a letter.
Axis OptionAxis(const char* mechanism, const char* option, std::string letter,
                std::int64_t greatest, std::string help) {
  const OptionSpec* const spec =
      FindOption(FindMechanism<float>(mechanism)->Describe(), option);
  Axis axis =
      Declared(IntegerAxis(option, std::move(letter), greatest,
                           OptionText(spec->default_value), std::move(help)));
  axis.is_option = true;
  return axis;
}

Axis ChunkWidthAxis() {
  Axis axis =
      OptionAxis("mocha", "chunk_width", "w", kGreatestLength,
                 "MoChA's window of memory entries; inf is infinite lookback, "
                 "e.g. -w 2,4,8 or -w inf");
  axis.allow_infinite = true;
  return axis;
}

Axis VocabularyAxis() {
  Axis axis = OfDecoder(IntegerAxis(
      "vocabulary", "", kGreatestVocabulary, "20",
      "symbols of a whole decoder's sources and outputs, the start and the end "
      "symbol among them, e.g. --vocabulary 16000"));
  axis.least = kFirstSymbol + 1;
  return axis;
}

Axis VariantAxis() {
  Axis axis =
      NameAxis("variant", VariantNames(), "exact",
               "which algorithm computes the same thing, or a published "
               "approximation of it, e.g. --variant exact,published_O3");
  axis.other_names = "^framework(_[a-z0-9]+)*$";
  return axis;
}

Axis WorkloadAxis() {
  Axis axis = NameAxis(
      "workload", NamesOf<WorkloadKind>(), "uniform",
      "how inputs are drawn, e.g. --workload uniform,planted,bias:-2; copy:S "
      "are sources of whole decoders, whose scans pass the share S of the "
      "memory, captured:FILE are scans of your own model");
  axis.type = AxisType::kWorkload;
  return OfPoint(axis);
}

std::vector<Axis> MakeAxes() {
  return {
      OfPoint(IntegerAxis("memory_length", "T", kGreatestLength, "100",
                          "entries of the memory, e.g. -T 10:100:10 or -T "
                          "4:128:x2")),
      OfPoint(IntegerAxis("output_length", "U", kGreatestLength, "=T",
                          "outputs, one context vector each, e.g. -U 10,20 or "
                          "-U =T")),
      ChunkWidthAxis(),
      OptionAxis("memory", "num_contexts", "K", kGreatestDim,
                 "vectors of the fixed-size memory, e.g. -K 32,64"),
      OfPoint(IntegerAxis("dim", "d", kGreatestDim, "256",
                          "size of a memory entry and of a decoder state, e.g. "
                          "-d 256")),
      OfPoint(IntegerAxis("batch", "B", kGreatestDim, "1",
                          "independent sequences, e.g. -B 1,16")),
      OfDecoder(IntegerAxis("beam", "", kGreatestBeam, "1",
                            "hypotheses of a whole decoder's beam search; 1 is "
                            "greedy, e.g. --beam 1,10")),
      VocabularyAxis(),
      MayBeAbsent(
          OfDecoder(IntegerAxis("layers", "", kGreatestLayers, "2",
                                "LSTM layers of a whole decoder, and of each "
                                "direction of its encoder, e.g. --layers 1"))),
      MayBeAbsent(OfDecoder(
          NameAxis("encoder", {"timed", "given"}, "timed",
                   "whether the time of a whole decoder has its encoder in it, "
                   "e.g. --encoder given"))),
      IntegerAxis("threads", "j", kGreatestThreads, "1",
                  "OpenMP threads, e.g. -j 1,2"),
      NameAxis("precision", Precision::kF32,
               "width of a number, e.g. --precision f32,f64"),
      NameAxis("mode", Mode::kDecode,
               "what runs: the test-time process, or in training its "
               "expectation, without or with gradients, e.g. --mode "
               "decode,expect,gradient"),
      WithTrainingDefault(
          NameOf(Scope::kAttention),
          NameAxis("scope", Scope::kFull,
                   "what a sample times: full is from memory and decoder "
                   "states to contexts, attention from given scores to "
                   "attention (not in mode decode); with mode gradient, and "
                   "back; decoder is a whole encoder and decoder, e.g. --scope "
                   "full,attention")),
      WithTrainingDefault(
          NameOf(Schedule::kTeacherForced),
          NameAxis("schedule", Schedule::kOnline,
                   "one decoder state at a time, or all known beforehand (in "
                   "training always), e.g. --schedule online,teacher_forced")),
      Declared(NameAxis("energy", EnergyKind::kDot,
                        "the energy function, e.g. --energy dot,additive")),
      VariantAxis(),
      WorkloadAxis(),
      Declared(NameAxis("end", EndPolicy::kAbsorb,
                        "where output i+1 starts when output i chose no entry, "
                        "e.g. --end stay_last")),
  };
}

std::string AllowedIntegers(const Axis& axis) {
  return fmt::format(
      "allowed: whole numbers from {} to {}{}, lists 10,20, ranges "
      "first:last:step, doubling 4:128:x2, or =AXIS",
      axis.least, axis.greatest, axis.allow_infinite ? ", inf" : "");
}

void CheckIntegerRange(std::int64_t value, const Axis& axis,
                       const std::string& where) {
  if (value < axis.least || value > axis.greatest) {
    throw UserError(where, fmt::format("{} is out of range; {}", value,
                                       AllowedIntegers(axis)));
  }
}

// The values of "first:last:step" or "first:last:xFACTOR".
void AppendRange(const Axis& axis, std::string_view item,
                 const std::string& where, std::vector<AxisValue>& values) {
  const std::size_t first_colon = item.find(':');
  const std::size_t second_colon = item.find(':', first_colon + 1);
  if (second_colon == std::string_view::npos ||
      item.find(':', second_colon + 1) != std::string_view::npos) {
    throw UserError(where,
                    fmt::format("'{}' is not a range; write first:last:step, "
                                "such as 10:100:10, or first:last:x2",
                                Shortened(item)));
  }
  const std::string in_range =
      fmt::format("{}: range '{}'", where, Shortened(item));
  const std::int64_t first = ParseInteger(item.substr(0, first_colon),
                                          axis.least, axis.greatest, in_range);
  const std::int64_t last =
      ParseInteger(item.substr(first_colon + 1, second_colon - first_colon - 1),
                   axis.least, axis.greatest, in_range);
  std::string_view step_text = item.substr(second_colon + 1);
  const bool multiplies = step_text.starts_with('x');
  if (multiplies) step_text.remove_prefix(1);
  const std::int64_t step =
      ParseInteger(step_text, multiplies ? 2 : 1, kGreatestLength,
                   in_range + (multiplies ? ", factor" : ", step"));
  if (first > last) {
    throw UserError(where,
                    fmt::format("range '{}' ends before it begins; write "
                                "first:last:step with first <= last",
                                Shortened(item)));
  }
  std::int64_t value = first;
  while (values.size() <= kMostAxisValues) {
    values.emplace_back(value);
    if (multiplies ? value > last / step : value > last - step) break;
    value = multiplies ? value * step : value + step;
  }
}

void AppendIntegers(const Axis& axis, std::string_view item,
                    const std::string& where, std::vector<AxisValue>& values) {
  if (item.starts_with('=')) {
    const Axis& other = FindAxis(item.substr(1), where);
    if (other.type != AxisType::kInteger || other.name == axis.name) {
      throw UserError(where, fmt::format("'{}' must name another axis that is "
                                         "a number, such as =T",
                                         Shortened(item)));
    }
    values.emplace_back(std::string(item));
  } else if (item == "inf") {
    if (!axis.allow_infinite) {
      throw UserError(where, fmt::format("'inf' is out of range; {}",
                                         AllowedIntegers(axis)));
    }
    values.emplace_back("inf");
  } else if (item.find(':') != std::string_view::npos) {
    AppendRange(axis, item, where, values);
  } else {
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(item.data(), item.data() + item.size(), value);
    if (error != std::errc() || end != item.data() + item.size()) {
      const bool too_large = error == std::errc::result_out_of_range;
      throw UserError(where, fmt::format("'{}' {}; {}", Shortened(item),
                                         too_large ? "is out of range"
                                                   : "is not a whole number",
                                         AllowedIntegers(axis)));
    }
    CheckIntegerRange(value, axis, where);
    values.emplace_back(value);
  }
}

void CheckName(const Axis& axis, std::string_view item,
               const std::string& where) {
  if (axis.type == AxisType::kWorkload) {
    ParseWorkload(item, where);
    return;
  }
  if (Contains(axis.names, item)) return;
  if (!axis.other_names.empty() &&
      std::regex_match(std::string(item), std::regex(axis.other_names))) {
    return;
  }
  throw UserError(where, UnknownName(axis.name, item, axis.names));
}

// What a name with a parameter looks like, "bias:R" and the like.
std::string TextPattern(const std::vector<std::string>& names) {
  std::string pattern;
  for (const std::string& name : names) {
    const std::size_t colon = name.find(':');
    const bool has_parameter = colon != std::string::npos;
    pattern += pattern.empty() ? "^(" : "|";
    pattern += has_parameter ? name.substr(0, colon + 1) + ".+" : name;
  }
  return pattern + ")$";
}

std::vector<AxisValue> WithoutRepetition(std::vector<AxisValue> values) {
  std::set<AxisValue> seen;
  std::erase_if(values, [&seen](const AxisValue& value) {
    return !seen.insert(value).second;
  });
  return values;
}

}  // namespace

const std::vector<Axis>& AllAxes() {
  static const std::vector<Axis> axes = MakeAxes();
  return axes;
}

const std::string& DefaultOf(const Axis& axis, Mode mode) {
  return mode == Mode::kDecode || axis.training_default.empty()
             ? axis.default_value
             : axis.training_default;
}

std::string DefaultText(const Axis& axis) {
  return axis.training_default.empty()
             ? axis.default_value
             : axis.default_value + "; training: " + axis.training_default;
}

std::vector<std::string> AxisNames() {
  std::vector<std::string> names;
  for (const Axis& axis : AllAxes()) names.push_back(axis.name);
  return names;
}

const Axis& FindAxis(std::string_view name, const std::string& where) {
  for (const Axis& axis : AllAxes()) {
    if (name == axis.name || (!name.empty() && name == axis.letter)) {
      return axis;
    }
  }
  throw UserError(where, UnknownName("axis", name, AxisNames()));
}

const Axis* ReferredAxis(const Axis& axis, const AxisValue& value) {
  const bool is_reference = axis.type == AxisType::kInteger &&
                            value.is_text() && value.text().starts_with('=');
  return is_reference ? &FindAxis(value.text().substr(1), axis.name) : nullptr;
}

bool HasAxis(const Description& description, const Axis& axis) {
  return !axis.declared || Contains(description.axes, axis.name) ||
         (axis.is_option && FindOption(description, axis.name) != nullptr);
}

std::vector<std::string> DeclaredAxes(const Description& description) {
  std::vector<std::string> names;
  for (const Axis& axis : AllAxes()) {
    if (axis.declared && HasAxis(description, axis)) names.push_back(axis.name);
  }
  return names;
}

std::vector<OptionSpec> OptionsBesideAxes(const Description& description) {
  std::vector<OptionSpec> options;
  for (const OptionSpec& spec : description.options) {
    const auto axis = std::ranges::find(AllAxes(), spec.name, &Axis::name);
    if (axis == AllAxes().end() || !axis->is_option) options.push_back(spec);
  }
  return options;
}

Axis AxisOfOption(const OptionSpec& spec) {
  const auto whole = [](double limit) {
    const auto greatest = static_cast<double>(kGreatestLength);
    return static_cast<std::int64_t>(std::clamp(limit, -greatest, greatest));
  };
  Axis axis = IntegerAxis(spec.name, "", whole(spec.greatest), "", spec.help);
  axis.least = whole(spec.least);
  return axis;
}

std::string OptionName(const Axis& axis) {
  std::string name = "--" + axis.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::vector<AxisValue> ParseAxisValues(const Axis& axis, std::string_view text,
                                       const std::string& where) {
  std::vector<AxisValue> values;
  for (const std::string& item : SplitList(text, where)) {
    if (axis.type == AxisType::kInteger) {
      AppendIntegers(axis, item, where, values);
    } else {
      CheckName(axis, item, where);
      values.emplace_back(item);
    }
    if (values.size() > kMostAxisValues) {
      throw UserError(where, fmt::format("'{}' is more than {} values",
                                         Shortened(text), kMostAxisValues));
    }
  }
  return WithoutRepetition(std::move(values));
}

AxisValue CheckAxisValue(const Axis& axis, const Json& value,
                         const std::string& where) {
  if (value.is_string()) {
    const auto values = ParseAxisValues(axis, value.get<std::string>(), where);
    if (values.size() == 1) return values.front();
    throw UserError(where, "must be one value, not a list or a range");
  }
  if (axis.type != AxisType::kInteger) {
    throw UserError(where, fmt::format("must be a text; valid: {}",
                                       fmt::join(axis.names, ", ")));
  }
  if (!value.is_number()) {
    throw UserError(where,
                    "must be a number or a text; " + AllowedIntegers(axis));
  }
  // By way of the text: a number beyond 64 bits or with a fraction is then
  // refused in the same words as on the command line.
  return ParseAxisValues(axis, value.dump(), where).front();
}

Rule RuleOf(const Axis& axis) {
  Rule rule;
  rule.may_be_null = axis.declared || axis.of_decoder;
  rule.absent_if_unset = axis.of_decoder;
  if (axis.type == AxisType::kInteger) {
    rule.minimum = static_cast<double>(axis.least);
    rule.maximum = static_cast<double>(axis.greatest);
    if (axis.allow_infinite) rule.one_of = {"inf"};
  } else if (axis.type == AxisType::kName) {
    rule.one_of = axis.names;
    rule.pattern = axis.other_names;
  } else {
    rule.pattern = TextPattern(axis.names);
  }
  return rule;
}

}  // namespace attnbench
