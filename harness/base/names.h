// The names of an enumeration's values, in commands and documents alike.
#ifndef ATTNBENCH_HARNESS_BASE_NAMES_H_
#define ATTNBENCH_HARNESS_BASE_NAMES_H_

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mechanisms/common/check.h"

namespace attnbench {

// A value of an enumeration by its name.
template <class Value>
struct NamedValue {
  std::string_view name;
  Value value;
};

// An enumeration that has names specialises this, with every value in order:
//   static constexpr NamedValue<Value> kAll[] = {...};
// Then it may be a member of a document (document.h).
template <class Value>
struct ValueNames;

template <class Value>
concept Named = requires {
  ValueNames<Value>::kAll;
};

template <Named Value>
std::vector<std::string> NamesOf() {
  std::vector<std::string> names;
  for (const auto& one : ValueNames<Value>::kAll) names.emplace_back(one.name);
  return names;
}

template <Named Value>
std::string NameOf(Value value) {
  const auto found = std::ranges::find(ValueNames<Value>::kAll, value,
                                       &NamedValue<Value>::value);
  ATTN_CHECK(found != std::end(ValueNames<Value>::kAll));
  return std::string(found->name);
}

// The names of some values.
template <Named Value>
std::vector<std::string> NamesOf(const std::vector<Value>& values) {
  std::vector<std::string> names;
  for (const Value value : values) names.push_back(NameOf(value));
  return names;
}

// The value of that name; none where there is no such name.
template <Named Value>
std::optional<Value> FindNamed(std::string_view name) {
  for (const auto& one : ValueNames<Value>::kAll) {
    if (one.name == name) return one.value;
  }
  return std::nullopt;
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_NAMES_H_
