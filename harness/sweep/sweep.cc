#include "harness/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/printable.h"
#include "harness/sweep/exclusions.h"
#include "harness/sweep/options.h"
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
  CheckPolicies(request, alternative, plan.options, plan.option_values);
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
  LeaveOutUnread(plan.options, cell.Text("variant"), cell.mode(), cell.options);
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
