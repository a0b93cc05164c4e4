#include "harness/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/printable.h"
#include "harness/sweep/exclusions.h"
#include "harness/sweep/workload_name.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

Description Describe(const std::string& mechanism) {
  if (mechanism == kNoAttention) {
    return {.name = kNoAttention,
            .modes = {Mode::kDecode},
            .schedules = {Schedule::kOnline},
            .variants = {{.name = "exact", .help = ""}},
            .beam = true};
  }
  const auto* const found = FindMechanism<float>(mechanism);
  if (found == nullptr) {
    throw UserError("mechanism",
                    UnknownName("mechanism", mechanism, CellMechanismNames()));
  }
  return found->Describe();
}

// Refuses an option that is none of `specs`.
void CheckOptionNames(
    const std::map<std::string, std::vector<OptionValue>>& options,
    const std::vector<OptionSpec>& specs, const std::string& where) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : specs) {
    if (!Contains(names, spec.name)) names.push_back(spec.name);
  }
  for (const auto& [name, values] : options) {
    if (Contains(names, name)) continue;
    const auto axis = std::ranges::find(AllAxes(), name, &Axis::name);
    throw UserError(where, axis == AllAxes().end()
                               ? UnknownName("option", name, names)
                               : fmt::format("{} is an axis: use {}", name,
                                             OptionName(*axis)));
  }
}

OptionValue CheckNumber(const OptionSpec& spec, const OptionValue& value) {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (const auto* text = std::get_if<std::string>(&value)) {
    const char* const last = text->data() + text->size();
    double parsed = 0;
    const auto [end, error] = std::from_chars(text->data(), last, parsed);
    if (error == std::errc() && end == last) number = parsed;
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    number = static_cast<double>(*whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    number = *real;
  }
  if (!std::isfinite(number) || number < spec.least || number > spec.greatest) {
    const std::string text = OptionText(value);
    throw UserError(
        "option " + spec.name,
        fmt::format("'{}' is not a number from {} to {}{}", Shortened(text),
                    spec.least, spec.greatest,
                    text.find(':') == std::string::npos
                        ? ""
                        : "; only whole numbers have ranges, so write a list, "
                          "such as 0.5,0.7"));
  }
  return number;
}

OptionValue CheckSwitch(const OptionSpec& spec, const OptionValue& value) {
  if (std::holds_alternative<bool>(value)) return value;
  if (value == OptionValue(std::string("true"))) return true;
  if (value == OptionValue(std::string("false"))) return false;
  throw UserError(
      "option " + spec.name,
      fmt::format("'{}' is not true or false", Shortened(OptionText(value))));
}

OptionValue CheckText(const OptionSpec& spec, const OptionValue& value) {
  const std::string text = OptionText(value);
  if (!spec.allowed.empty() && !Contains(spec.allowed, text)) {
    throw UserError("option " + spec.name,
                    UnknownName("value", text, spec.allowed));
  }
  return text;
}

// Adds the values that `value` stands for, as it was written, in the type of
// the option: a whole number is written as on an axis, and "=T" kept as a text.
void AppendOption(const OptionSpec& spec, const OptionValue& value,
                  std::vector<OptionValue>& values) {
  if (std::holds_alternative<bool>(spec.default_value)) {
    values.push_back(CheckSwitch(spec, value));
  } else if (std::holds_alternative<double>(spec.default_value)) {
    values.push_back(CheckNumber(spec, value));
  } else if (std::holds_alternative<std::string>(spec.default_value)) {
    values.push_back(CheckText(spec, value));
  } else {
    for (const AxisValue& one : ParseAxisValues(
             AxisOfOption(spec), OptionText(value), "option " + spec.name)) {
      if (one.is_text()) {
        values.emplace_back(one.text());
      } else {
        values.emplace_back(one.whole());
      }
    }
  }
}

// Stands for the default where that depends on the mode. No value of an axis.
constexpr char kDefaultOfMode[] = "=mode";

// The value of the axis in a cell that has `axes`, references followed;
// `followed` is how many led here.
AxisValue Resolve(const Axis& axis, const AxisMap& axes,
                  std::size_t followed = 0) {
  const AxisValue& value = axes.at(axis.name);
  if (value == kDefaultOfMode) {
    return DefaultOf(axis, FindNamed<Mode>(axes.at("mode").text()).value());
  }
  const Axis* const other = ReferredAxis(axis, value);
  if (other == nullptr) return value;
  const std::string& text = value.text();
  const std::string refers =
      fmt::format("'{}' refers to {}", text, other->name);
  if (other->of_decoder) {
    throw UserError(axis.name, refers + ", which only whole decoders have");
  }
  if (axis.of_point && !other->of_point) {
    throw UserError(axis.name, refers +
                                   ", which differs between the cells "
                                   "that share their data");
  }
  if (followed == AllAxes().size()) {
    throw UserError(axis.name, refers + ", which leads back to " + axis.name);
  }
  const AxisValue referred = Resolve(*other, axes, followed + 1);
  if (referred.is_null()) {
    throw UserError(axis.name, refers +
                                   ", which a mechanism of the sweep does "
                                   "not have");
  }
  return CheckAxisValue(axis, ToJson(referred),
                        fmt::format("{}: '{}'", axis.name, text));
}

// The value of an option in a cell that has `axes`.
OptionValue ResolveOption(const OptionSpec& spec, const OptionValue& value,
                          const AxisMap& axes) {
  if (value.index() == spec.default_value.index()) return value;
  const std::string where = "option " + spec.name;
  const std::string& text = std::get<std::string>(value);
  const AxisValue& referred = axes.at(FindAxis(text.substr(1), where).name);
  if (referred.is_null()) {
    throw UserError(where, fmt::format("'{}' refers to what the cell does not "
                                       "have",
                                       text));
  }
  return CheckAxisValue(AxisOfOption(spec), ToJson(referred),
                        fmt::format("{}: '{}'", where, text))
      .whole();
}

// An alternative with everything it is crossed over.
struct Plan {
  Description description;
  std::vector<OptionSpec> options;  // that are crossed beside the axes
  std::vector<std::vector<AxisValue>> axis_values;      // in the table's order
  std::vector<std::vector<OptionValue>> option_values;  // of each of `options`

  std::vector<std::size_t> Sizes() const {
    std::vector<std::size_t> sizes;
    for (const auto& values : axis_values) sizes.push_back(values.size());
    for (const auto& values : option_values) sizes.push_back(values.size());
    return sizes;
  }
};

// Refuses a variant that neither a mechanism nor a peer has.
void CheckVariant(const Axis& axis, const std::string& variant,
                  const std::vector<PeerVariant>& peer_variants) {
  std::vector<std::string> names = axis.names;
  for (const PeerVariant& one : peer_variants) {
    if (!Contains(names, one.name)) names.push_back(one.name);
  }
  if (Contains(names, variant)) return;
  throw UserError(axis.name, UnknownName(axis.name, variant, names));
}

std::vector<AxisValue> CheckValues(
    const Axis& axis, const std::vector<AxisValue>& given,
    const std::vector<PeerVariant>& peer_variants) {
  std::vector<AxisValue> values;
  for (const AxisValue& value : given) {
    values.push_back(CheckAxisValue(axis, ToJson(value), axis.name));
    if (axis.other_names.empty()) continue;
    CheckVariant(axis, value.text(), peer_variants);
  }
  if (values.empty()) throw UserError(axis.name, "the list of values is empty");
  return values;
}

std::vector<AxisValue> AxisValuesOf(const Axis& axis,
                                    const SweepRequest& request,
                                    const Alternative& alternative,
                                    const Description& description) {
  const auto own = alternative.axes.find(axis.name);
  if (!HasAxis(description, axis)) {
    if (own != alternative.axes.end()) {
      const std::vector<std::string> has = DeclaredAxes(description);
      throw UserError(
          axis.name,
          fmt::format(
              "{} does not have this axis; it declares: {}",
              alternative.mechanism,
              has.empty() ? "none" : fmt::format("{}", fmt::join(has, ", "))));
    }
    return {nullptr};
  }
  if (own != alternative.axes.end()) {
    return CheckValues(axis, own->second, request.peer_variants);
  }
  const auto common = request.axes.find(axis.name);
  if (common != request.axes.end()) {
    return CheckValues(axis, common->second, request.peer_variants);
  }
  if (!axis.training_default.empty()) return {kDefaultOfMode};
  return ParseAxisValues(axis, axis.default_value, axis.name);
}

std::vector<OptionValue> OptionValuesOf(const OptionSpec& spec,
                                        const SweepRequest& request,
                                        const Alternative& alternative) {
  const std::vector<OptionValue>* given = nullptr;
  for (const auto* options : {&request.options, &alternative.options}) {
    const auto found = options->find(spec.name);
    if (found != options->end()) given = &found->second;
  }
  if (given == nullptr) return {spec.default_value};
  if (given->empty()) {
    throw UserError("option " + spec.name, "the list of values is empty");
  }
  std::vector<OptionValue> values;
  for (const OptionValue& value : *given) AppendOption(spec, value, values);
  return values;
}

// Refuses values of an option that no policy of the plan reads.
void CheckPolicies(const SweepRequest& request, const Alternative& alternative,
                   const Plan& plan) {
  const auto policy =
      std::ranges::find(plan.options, kPolicyOption, &OptionSpec::name);
  if (policy == plan.options.end()) return;
  const std::vector<OptionValue>& policies =
      plan.option_values[Size(policy - plan.options.begin())];
  for (const OptionSpec& spec : plan.options) {
    const bool is_read =
        std::ranges::find(policies, OptionValue(spec.policy)) != policies.end();
    if (spec.policy.empty() || is_read ||
        !(request.options.contains(spec.name) ||
          alternative.options.contains(spec.name))) {
      continue;
    }
    throw UserError(
        "option " + spec.name,
        fmt::format("is read with policy={0} only, and policy is {1}; add "
                    "--option policy={0}",
                    spec.policy, OptionText(policies.front())));
  }
}

// Leaves out, at its default, an option that another variant reads alone. A
// result from before the option has the same cells then, and a peer, which
// refuses what it does not know, is not asked about it.
void LeaveOutOtherVariants(const std::vector<OptionSpec>& specs,
                           const std::string& variant,
                           std::map<std::string, OptionValue>& options) {
  for (const OptionSpec& spec : specs) {
    if (spec.variant.empty() || spec.variant == variant) continue;
    if (options.at(spec.name) == spec.default_value) options.erase(spec.name);
  }
}

// Leaves out what the cell does not read: training reads no policy.
void LeaveOutPolicy(const std::vector<OptionSpec>& specs, Mode mode,
                    std::map<std::string, OptionValue>& options) {
  for (const OptionSpec& spec : specs) {
    if (spec.name != kPolicyOption) continue;
    const OptionValue policy = options.at(spec.name);
    const bool is_read = mode == Mode::kDecode && policy != spec.default_value;
    if (!is_read) options.erase(spec.name);
    for (const OptionSpec& other : specs) {
      if (other.policy.empty()) continue;
      if (is_read && policy == OptionValue(other.policy)) continue;
      options.erase(other.name);
    }
  }
}

Plan MakePlan(const SweepRequest& request, const Alternative& alternative) {
  Plan plan;
  plan.description = Describe(alternative.mechanism);
  for (const PeerVariant& variant : request.peer_variants) {
    if (variant.mechanism != alternative.mechanism) continue;
    plan.description.variants.push_back({variant.name, variant.help});
  }
  for (const auto& [name, values] : alternative.axes) {
    FindAxis(name, alternative.mechanism);
  }
  for (const Axis& axis : AllAxes()) {
    plan.axis_values.push_back(
        AxisValuesOf(axis, request, alternative, plan.description));
  }
  plan.options = OptionsBesideAxes(plan.description);
  CheckOptionNames(alternative.options, plan.options,
                   "options of " + alternative.mechanism);
  for (const OptionSpec& spec : plan.options) {
    plan.option_values.push_back(OptionValuesOf(spec, request, alternative));
  }
  CheckPolicies(request, alternative, plan);
  return plan;
}

void CheckCommonNames(const SweepRequest& request,
                      const std::vector<Plan>& plans) {
  for (const auto& [name, values] : request.axes) {
    FindAxis(name, "axes");
  }
  std::vector<OptionSpec> declared;
  for (const Plan& plan : plans) {
    declared.insert(declared.end(), plan.options.begin(), plan.options.end());
  }
  CheckOptionNames(request.options, declared, "options");
}

// Refuses an axis of whole decoders, where no cell is one.
void CheckDecoderAxes(const SweepRequest& request) {
  for (const Axis& axis : AllAxes()) {
    bool is_asked_for = request.axes.contains(axis.name);
    for (const Alternative& alternative : request.alternatives) {
      is_asked_for = is_asked_for || alternative.axes.contains(axis.name);
    }
    if (!axis.of_decoder || !is_asked_for) continue;
    throw UserError(axis.name, "is an axis of whole decoders: scope decoder");
  }
}

void CheckNumberOfCells(const std::vector<Plan>& plans) {
  double cells = 0;
  for (const Plan& plan : plans) {
    double product = 1;
    for (const std::size_t size : plan.Sizes()) {
      product *= static_cast<double>(size);
    }
    cells += product;
  }
  if (cells > static_cast<double>(kMostCells)) {
    throw UserError("sweep", fmt::format("{:.0f} cells are asked for, at most "
                                         "{} are allowed; shorten a list",
                                         cells, kMostCells));
  }
}

WorkloadKind KindOfWorkload(const Cell& cell) {
  return ParseWorkload(cell.Text("workload")).kind;
}

// Sources and weights beyond this would fill the memory before the allocator,
// which has a limit, sees them.
constexpr std::pair<const char*, std::int64_t> kMostOfDecoder[] = {
    {"memory_length", 100'000},
    {"output_length", 100'000},
    {"batch", 100'000},
    {"dim", 1 << 14}};

// The model of whole decoders has one way to run.
std::optional<std::string> DecoderSkipReason(const Description& description,
                                             const Cell& cell) {
  const std::pair<const char*, AxisValue> wanted[] = {{"mode", "decode"},
                                                      {"schedule", "online"},
                                                      {"variant", "exact"},
                                                      {"precision", "f32"},
                                                      {"threads", 1}};
  for (const auto& [axis, value] : wanted) {
    if (cell.axes.at(axis) == value) continue;
    return fmt::format("a whole decoder has {} {}, not {}", axis, value.Shown(),
                       cell.axes.at(axis).Shown());
  }
  for (const auto& [axis, most] : kMostOfDecoder) {
    if (cell.Int(axis) <= most) continue;
    return fmt::format("a whole decoder has at most {} {}, not {}", axis, most,
                       cell.Int(axis));
  }
  if (cell.Int("beam") > 1 && !description.beam) {
    return fmt::format("{} has no StepBeam, which a beam of {} needs",
                       cell.mechanism, cell.Int("beam"));
  }
  const WorkloadKind kind = KindOfWorkload(cell);
  if (kind == WorkloadKind::kCopy || kind == WorkloadKind::kCaptured) {
    return std::nullopt;
  }
  return fmt::format(
      "a whole decoder has workload copy:S or captured:FILE, not {}",
      cell.Text("workload"));
}

// What scope, mode and workload rule out beside what a mechanism has.
std::optional<std::string> ModeSkipReason(const Description& description,
                                          const Cell& cell) {
  if (IsWholeDecoder(cell.axes)) return DecoderSkipReason(description, cell);
  if (cell.mechanism == kNoAttention ||
      KindOfWorkload(cell) == WorkloadKind::kCopy) {
    return "mechanism none and workload copy:S are of whole decoders: scope "
           "decoder only";
  }
  const bool is_full = cell.scope() == Scope::kFull;
  if (cell.mode() == Mode::kDecode) {
    if (is_full) return std::nullopt;
    return "mode decode is timed in scope full or decoder";
  }
  if (KindOfWorkload(cell) == WorkloadKind::kCaptured) {
    return "captured energies decide scans: workload captured:FILE has mode "
           "decode only";
  }
  if (cell.schedule() != Schedule::kTeacherForced) {
    return fmt::format(
        "mode {} knows all states beforehand: schedule teacher_forced only",
        cell.Text("mode"));
  }
  if (!is_full && description.scores.empty()) {
    return fmt::format(
        "scope attention starts from given scores, and {} names none that it "
        "takes",
        cell.mechanism);
  }
  return std::nullopt;
}

// Names an option that exceeds the axis that limits it.
std::optional<std::string> OptionSkipReason(const Description& description,
                                            const Cell& cell) {
  for (const OptionSpec& spec : description.options) {
    const auto found = cell.options.find(spec.name);
    if (spec.at_most.empty() || found == cell.options.end()) continue;
    const auto value = std::get<std::int64_t>(found->second);
    if (value <= cell.Int(spec.at_most)) continue;
    const std::int64_t most = cell.Int(spec.at_most);
    return fmt::format("option {} is {}, but {} is {}: at most {} is allowed",
                       spec.name, value, spec.at_most, most, most);
  }
  return std::nullopt;
}

// Why the mechanism cannot do what the axes of the cell ask for.
std::optional<std::string> SkipReason(const Description& description,
                                      const Cell& cell) {
  const auto lacks =
      [&cell](
          const char* axis, const std::string& owner,
          const std::vector<std::string>& has) -> std::optional<std::string> {
    if (Contains(has, cell.Text(axis))) return std::nullopt;
    return fmt::format("{} {} is not one of {}'s: {}", axis, cell.Text(axis),
                       owner, fmt::join(has, ", "));
  };
  std::optional<std::string> reason;
  if (!HasMode(description, cell.mode())) {
    reason = fmt::format("{} has no {}, which mode {} needs", cell.mechanism,
                         FunctionOf(cell.mode()), cell.Text("mode"));
  }
  if (!reason && cell.mode() == Mode::kDecode) {
    reason = lacks("schedule", cell.mechanism, NamesOf(description.schedules));
  }
  std::vector<std::string> variants;
  for (const VariantSpec& spec : description.variants) {
    variants.push_back(spec.name);
    if (reason || spec.name != cell.Text("variant") || spec.modes.empty()) {
      continue;
    }
    reason = lacks("mode", fmt::format("variant {}", spec.name),
                   NamesOf(spec.modes));
  }
  if (!reason) reason = lacks("variant", cell.mechanism, variants);
  if (!reason) reason = OptionSkipReason(description, cell);
  return reason ? reason : ModeSkipReason(description, cell);
}

Cell MakeCell(const Plan& plan, const std::vector<PeerVariant>& peer_variants,
              const std::vector<std::size_t>& choice) {
  Cell cell;
  cell.mechanism = plan.description.name;
  for (std::size_t i = 0; i < AllAxes().size(); ++i) {
    cell.axes[AllAxes()[i].name] = plan.axis_values[i][choice[i]];
  }
  AxisMap resolved;
  for (const Axis& axis : AllAxes()) {
    resolved[axis.name] = Resolve(axis, cell.axes);
  }
  if (!IsWholeDecoder(resolved)) {
    for (const Axis& axis : AllAxes()) {
      if (axis.of_decoder) resolved[axis.name] = nullptr;
    }
  }
  cell.axes = std::move(resolved);
  for (std::size_t i = 0; i < plan.option_values.size(); ++i) {
    cell.options[plan.options[i].name] = ResolveOption(
        plan.options[i], plan.option_values[i][choice[AllAxes().size() + i]],
        cell.axes);
  }
  LeaveOutOtherVariants(plan.options, cell.Text("variant"), cell.options);
  LeaveOutPolicy(plan.options, cell.mode(), cell.options);
  cell.skip_reason = SkipReason(plan.description, cell);
  ApplyPeerVariant(peer_variants, cell);
  return cell;
}

// The next way of choosing one of `sizes[i]` values for every i, the last one
// fastest; false after the last way.
bool NextChoice(const std::vector<std::size_t>& sizes,
                std::vector<std::size_t>& choice) {
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (++choice[i] < sizes[i]) return true;
    choice[i] = 0;
  }
  return false;
}

// Points in the order in which they first appear, each cell once.
class PointList {
 public:
  void Add(Cell cell) {
    if (!cells_.insert(cell.Key()).second) return;
    AxisMap axes;
    for (const Axis& axis : AllAxes()) {
      const AxisValue& value = cell.axes[axis.name];
      if (axis.of_point && !value.is_null()) axes[axis.name] = value;
    }
    const auto [place, is_new] =
        index_.emplace(ToJson(axes).dump(), points_.size());
    if (is_new) points_.push_back({std::move(axes), {}});
    points_[place->second].cells.push_back(std::move(cell));
  }
  std::vector<Point> Take() { return std::move(points_); }
  std::size_t num_cells() const { return cells_.size(); }

 private:
  std::vector<Point> points_;
  std::unordered_map<std::string, std::size_t> index_;
  std::unordered_set<std::string> cells_;
};

std::vector<Alternative> AlternativesOf(const SweepRequest& request) {
  if (!request.alternatives.empty()) return request.alternatives;
  std::vector<Alternative> all;
  for (const std::string& name : MechanismNames())
    all.push_back({name, {}, {}});
  return all;
}

}  // namespace

Sweep ExpandSweep(const SweepRequest& request) {
  std::vector<Plan> plans;
  for (const Alternative& alternative : AlternativesOf(request)) {
    plans.push_back(MakePlan(request, alternative));
  }
  CheckCommonNames(request, plans);
  CheckNumberOfCells(plans);
  PointList points;
  PointList excluded;
  bool has_whole_decoder = false;
  for (const Plan& plan : plans) {
    const std::vector<std::size_t> sizes = plan.Sizes();
    std::vector<std::size_t> choice(sizes.size());
    do {
      Cell cell = MakeCell(plan, request.peer_variants, choice);
      has_whole_decoder = has_whole_decoder || IsWholeDecoder(cell.axes);
      PointList& list =
          IsExcluded(request.exclusions, cell) ? excluded : points;
      list.Add(std::move(cell));
    } while (NextChoice(sizes, choice));
  }
  if (!has_whole_decoder) CheckDecoderAxes(request);
  if (points.num_cells() == 0) {
    throw UserError("exclusions", "leave no cell to measure");
  }
  return {request, points.Take(), excluded.num_cells()};
}

std::vector<Point> GroupCells(std::vector<Cell> cells) {
  PointList points;
  for (Cell& cell : cells) points.Add(std::move(cell));
  return points.Take();
}

void SkipThreadsBeyond(std::int64_t cores, Sweep& sweep) {
  for (Point& point : sweep.points) {
    for (Cell& cell : point.cells) {
      if (cell.skip_reason || cell.Int("threads") <= cores) continue;
      cell.skip_reason =
          fmt::format("{} threads: this machine has {} core{}",
                      cell.Int("threads"), cores, cores == 1 ? "" : "s");
    }
  }
}

}  // namespace attnbench
