// The axes of a sweep: one table from which the command line, `list`, the
// result schema, the cell key and the documentation are made. What is a setting
// of one mechanism needs no row: it is an option of that. A new row is
// crossed, listed, hashed and stored; what it does to a cell is read in
// MakeConfig (cell.cc) or, where it decides the data, in SpecOf
// (point_runner.cc).
#ifndef ATTNBENCH_HARNESS_SWEEP_AXES_H_
#define ATTNBENCH_HARNESS_SWEEP_AXES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json.h"
#include "harness/base/precision.h"
#include "harness/sweep/values.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

enum class AxisType {
  kInteger,   // a whole number in [least, greatest]; "inf" where allowed
  kName,      // one of `names`
  kWorkload,  // one of `names`, some with a parameter (workload_name.h)
};

struct Axis {
  std::string name;    // key in JSON; --memory-length on the command line
  std::string letter;  // -T, or empty
  AxisType type = AxisType::kInteger;
  std::int64_t least = 1;
  std::int64_t greatest = 1;
  bool allow_infinite = false;     // "inf"
  std::vector<std::string> names;  // of kName and kWorkload
  // What the names of a peer's variants look like (a regular expression);
  // ExpandSweep checks that there is such a peer. Empty: none.
  std::string other_names;
  std::string default_value;  // as written on the command line
  // The default in modes expect and gradient; empty: the same.
  std::string training_default;
  // The value decides the data: all cells that agree on these axes are one
  // point, timed against each other on the same draws.
  bool of_point = false;
  // Crossed only for mechanisms that declare it, null for others.
  bool declared = false;
  // What declares it is an option of this name, which the axis sets. Other
  // options of mechanisms are no axes, and are crossed alike.
  bool is_option = false;
  // Crossed only in scope decoder. Cells of other scopes do not have it.
  bool of_decoder = false;
  // Results from before there was this axis lack it, and have its default.
  bool may_be_absent = false;
  std::string help;
};

// Far beyond what any machine holds, and small enough that sums of two lengths
// do not overflow; whether the arrays fit is for the allocation to say.
inline constexpr std::int64_t kGreatestLength = std::int64_t{1} << 40;

inline constexpr std::size_t kMostAxisValues = 100'000;

// The axes: T, U, w, K, d, B, beam, vocabulary, layers, encoder, threads,
// precision, mode, scope, schedule, energy, variant, workload, end.
const std::vector<Axis>& AllAxes();

// The default of the axis in a mode.
const std::string& DefaultOf(const Axis& axis, Mode mode);

// The default for people: "full; training: attention".
std::string DefaultText(const Axis& axis);

// The axis of that name or letter; throws UserError naming `where` otherwise.
const Axis& FindAxis(std::string_view name, const std::string& where);

// The axis that a value such as "=T" refers to; null for any other value.
const Axis* ReferredAxis(const Axis& axis, const AxisValue& value);

// The names of all axes, in the table's order.
std::vector<std::string> AxisNames();

// Whether the mechanism has the axis, and the names of those that it has and
// others do not.
bool HasAxis(const Description& description, const Axis& axis);
std::vector<std::string> DeclaredAxes(const Description& description);

// The options of the mechanism that are no axes.
std::vector<OptionSpec> OptionsBesideAxes(const Description& description);

// An option that is a whole number, as an axis: what can be written for it.
Axis AxisOfOption(const OptionSpec& spec);

// The option of an axis: "--memory-length".
std::string OptionName(const Axis& axis);

// The values that `text` stands for, in order, without repetition: a list
// "10,20", ranges "10:100:10" and "4:128:x2" (both ends included where hit),
// "inf", names, "=T" (kept as the text "=T": it is resolved per point; any
// other integer axis can be named, by letter or name). At most kMostAxisValues.
// Throws UserError for anything else, naming `where`.
std::vector<AxisValue> ParseAxisValues(const Axis& axis, std::string_view text,
                                       const std::string& where);

// The same for one value from a file: a number, a name or a text.
AxisValue CheckAxisValue(const Axis& axis, const Json& value,
                         const std::string& where);

// What the value of an axis in a result must be.
Rule RuleOf(const Axis& axis);

// What a sample times: from memory and decoder states to contexts, from given
// scores to attention, or a whole encoder and decoder.
enum class Scope { kFull, kAttention, kDecoder };

// The values of axes by their names.
template <>
struct ValueNames<Mode> {
  static constexpr NamedValue<Mode> kAll[] = {{"decode", Mode::kDecode},
                                              {"expect", Mode::kExpect},
                                              {"gradient", Mode::kGradient}};
};
template <>
struct ValueNames<Scope> {
  static constexpr NamedValue<Scope> kAll[] = {{"full", Scope::kFull},
                                               {"attention", Scope::kAttention},
                                               {"decoder", Scope::kDecoder}};
};
template <>
struct ValueNames<Schedule> {
  static constexpr NamedValue<Schedule> kAll[] = {
      {"online", Schedule::kOnline},
      {"teacher_forced", Schedule::kTeacherForced}};
};
template <>
struct ValueNames<EnergyKind> {
  static constexpr NamedValue<EnergyKind> kAll[] = {
      {"dot", EnergyKind::kDot},
      {"bilinear", EnergyKind::kBilinear},
      {"additive", EnergyKind::kAdditive},
      {"normalized_additive", EnergyKind::kNormalizedAdditive},
      {"scaled_bilinear", EnergyKind::kScaledBilinear}};
};
template <>
struct ValueNames<EndPolicy> {
  static constexpr NamedValue<EndPolicy> kAll[] = {
      {"absorb", EndPolicy::kAbsorb},
      {"stay_last", EndPolicy::kStayLast},
      {"restart", EndPolicy::kRestart}};
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_AXES_H_
