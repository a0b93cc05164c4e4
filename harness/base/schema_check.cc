#include "harness/base/schema_check.h"

#include <algorithm>
#include <string>
#include <vector>

#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 sees overlapping copies in every `"text" + string` that it inlines
// (its bug 105651), here in valijson's.
#pragma GCC diagnostic ignored "-Wrestrict"
#endif
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "harness/base/error.h"

namespace attnbench {
namespace {

// Makes "cells[3].samples_ns" from "<root>", "[cells]", "[3]", "[samples_ns]".
// An element with an id is named by it, too: "claims[3] (mad-linear).kind".
std::string PlaceText(const std::vector<std::string>& context,
                      const Json& document) {
  std::string place;
  const Json* at = &document;
  for (std::size_t i = 1; i < context.size(); ++i) {
    const std::string name = context[i].substr(1, context[i].size() - 2);
    const bool is_index =
        !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
          return c >= '0' && c <= '9';
        });
    if (is_index) {
      place += "[" + name + "]";
      at = &at->at(std::stoul(name));
      if (at->is_object() && at->contains("id") && at->at("id").is_string()) {
        place += " (" + at->at("id").get<std::string>() + ")";
      }
    } else {
      place += (place.empty() ? "" : ".") + name;
      at = &at->at(name);
    }
  }
  return place;
}

}  // namespace

// Picks the innermost of the errors, the last where there are several: outer
// ones only repeat that it is there, earlier ones that a condition was not met.
void CheckSchema(const Json& schema_json, const std::string& schema_name,
                 const Json& document, const std::string& path) {
  // The validator reads the library's unordered documents.
  const auto plain_schema = nlohmann::json::parse(schema_json.dump());
  const auto plain = nlohmann::json::parse(document.dump());
  valijson::Schema schema;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(plain_schema),
                      schema);
  valijson::ValidationResults errors;
  if (valijson::Validator(valijson::Validator::kStrongTypes)
          .validate(schema, valijson::adapters::NlohmannJsonAdapter(plain),
                    &errors)) {
    return;
  }
  auto innermost = errors.begin();
  for (auto error = errors.begin(); error != errors.end(); ++error) {
    if (error->context.size() >= innermost->context.size()) innermost = error;
  }
  const std::string place = PlaceText(innermost->context, document);
  throw UserError(
      path + (place.empty() ? "" : ": " + place),
      "is not as " + schema_name + " wants it: " + innermost->description);
}

}  // namespace attnbench
