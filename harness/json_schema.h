// The words that our JSON Schemas (draft 7) are made of.
#ifndef ATTNBENCH_HARNESS_JSON_SCHEMA_H_
#define ATTNBENCH_HARNESS_JSON_SCHEMA_H_

#include <utility>

#include "harness/axes.h"

namespace attnbench::json_schema {

inline Json Type(const char* type) { return {{"type", type}}; }

inline Json OrNull(const char* type) { return {{"type", {type, "null"}}}; }

inline Json AtLeastZero(const char* type) {
  return {{"type", type}, {"minimum", 0}};
}

inline Json ListOf(Json items) { return {{"type", "array"}, {"items", items}}; }

// An object with members of any name.
inline Json MapOf(Json values) {
  return {{"type", "object"}, {"additionalProperties", std::move(values)}};
}

// An object with exactly these members.
inline Json Record(Json properties) {
  Json required = Json::array();
  for (const auto& [name, schema] : properties.items()) {
    required.push_back(name);
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

inline Json NullOr(Json schema) {
  return {{"anyOf", {std::move(schema), Type("null")}}};
}

}  // namespace attnbench::json_schema

#endif  // ATTNBENCH_HARNESS_JSON_SCHEMA_H_
