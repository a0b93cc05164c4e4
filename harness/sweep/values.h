// A value of an axis, the values of all axes of a cell or a point, and how
// these and a mechanism's options stand in documents.
#ifndef ATTNBENCH_HARNESS_SWEEP_VALUES_H_
#define ATTNBENCH_HARNESS_SWEEP_VALUES_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/base/document.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// A whole number, a text ("uniform", "inf", "=T"), or null if the mechanism
// does not have the axis. Numbers and texts convert to values implicitly.
class AxisValue {
 public:
  AxisValue() = default;
  AxisValue(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  template <std::integral Whole>
  requires(!std::same_as<Whole, bool>)
      AxisValue(Whole whole)  // NOLINT(google-explicit-constructor)
      : value_(static_cast<std::int64_t>(whole)) {}
  AxisValue(std::string text)  // NOLINT(google-explicit-constructor)
      : value_(std::move(text)) {}
  AxisValue(const char* text)  // NOLINT(google-explicit-constructor)
      : value_(std::string(text)) {}

  bool is_null() const { return value_.index() == 0; }
  bool is_whole() const { return value_.index() == 1; }
  bool is_text() const { return value_.index() == 2; }
  // Both throw std::bad_variant_access for a value of another kind.
  std::int64_t whole() const { return std::get<std::int64_t>(value_); }
  const std::string& text() const { return std::get<std::string>(value_); }

  // The value as the command line writes it; "-" for null.
  std::string Shown() const;

  friend auto operator<=>(const AxisValue&, const AxisValue&) = default;
  friend bool operator==(const AxisValue&, const AxisValue&) = default;

 private:
  std::variant<std::monostate, std::int64_t, std::string> value_;
};

// A value for each of some axes, in the table's order.
class AxisMap {
 public:
  // Both throw std::out_of_range if there is no such axis.
  const AxisValue& at(std::string_view axis) const;
  const AxisValue& operator[](std::string_view axis) const { return at(axis); }
  // Adds a null if the axis is not there.
  AxisValue& operator[](std::string_view axis);

  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

  friend bool operator==(const AxisMap&, const AxisMap&) = default;

 private:
  std::vector<std::pair<std::string, AxisValue>> values_;
};

// An option's value as people write it.
std::string OptionText(const OptionValue& value);

// The rule allows a whole number in its range (none without a `minimum`), a
// text that is one of `one_of` or matches `pattern`, and null if it
// `may_be_null`. An empty rule allows all of these.
template <>
struct JsonForm<AxisValue> {
  static Json Write(const AxisValue& value);
  static AxisValue Read(const Json& json, const Rule& rule, const Place& place);
  static Json Schema(const Rule& rule);
};

template <>
struct JsonForm<AxisMap> {
  static Json Write(const AxisMap& values);
  static AxisMap Read(const Json& json, const Rule& rule, const Place& place);
  static Json Schema(const Rule& rule);
};

template <>
struct JsonForm<OptionValue> {
  static Json Write(const OptionValue& value);
  static OptionValue Read(const Json& json, const Rule& rule,
                          const Place& place);
  static Json Schema(const Rule& rule);
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_VALUES_H_
