// Reads the values of a user's document, each with the place that errors name.
#ifndef ATTNBENCH_HARNESS_JSON_NODE_H_
#define ATTNBENCH_HARNESS_JSON_NODE_H_

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "harness/axes.h"
#include "harness/error.h"

namespace attnbench {

// A value of the document with the place that errors name.
struct Node {
  const Json& value;
  std::string where;

  Node Member(const std::string& key) const {
    return {value.at(key), where + (where.ends_with(": ") ? "" : ".") + key};
  }
  // Of an object.
  bool Has(const std::string& key) const { return value.contains(key); }
};

// Throws UserError where it is no object, or has another key.
inline void CheckObject(const Node& node,
                        const std::vector<std::string>& keys) {
  if (!node.value.is_object()) {
    throw UserError(node.where, "must be an object {...}");
  }
  const std::set<std::string> valid(keys.begin(), keys.end());
  for (const auto& [key, value] : node.value.items()) {
    if (!valid.contains(key)) {
      throw UserError(node.where, UnknownName("key", key, keys));
    }
  }
}

inline std::string ReadText(const Node& node) {
  if (!node.value.is_string() || node.value.get<std::string>().empty()) {
    throw UserError(node.where, "must be a text");
  }
  return node.value.get<std::string>();
}

inline std::int64_t ReadInteger(const Node& node, std::int64_t least,
                                std::int64_t greatest) {
  if (!node.value.is_number()) {
    throw UserError(node.where, fmt::format("must be a whole number from {} to "
                                            "{}",
                                            least, greatest));
  }
  return ParseInteger(node.value.dump(), least, greatest, node.where);
}

inline double ReadNumber(const Node& node, double least, double greatest) {
  const double number = node.value.is_number()
                            ? node.value.get<double>()
                            : std::numeric_limits<double>::quiet_NaN();
  if (!(number >= least && number <= greatest)) {
    throw UserError(node.where,
                    fmt::format("{} is no number from {} to {}",
                                node.value.dump(), least, greatest));
  }
  return number;
}

// Calls visit(element, place) for a value, or for each of a list of them.
template <class Visit>
void ForEachValue(const Node& node, const Visit& visit) {
  if (!node.value.is_array()) return visit(node);
  if (node.value.empty()) {
    throw UserError(node.where, "the list of values is empty");
  }
  for (std::size_t i = 0; i < node.value.size(); ++i) {
    visit(Node{node.value[i], fmt::format("{}[{}]", node.where, i)});
  }
}

// Calls visit(element, place) for each of a list of objects.
template <class Visit>
void ForEachObject(const Node& list, const Visit& visit) {
  if (!list.value.is_array()) {
    throw UserError(list.where, "must be a list [...]");
  }
  ForEachValue(list, visit);
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_JSON_NODE_H_
