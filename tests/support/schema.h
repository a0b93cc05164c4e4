// Validates a document against a schema of results/schema/.
#ifndef ATTNBENCH_TESTS_SUPPORT_SCHEMA_H_
#define ATTNBENCH_TESTS_SUPPORT_SCHEMA_H_

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 sees overlapping copies in every `"text" + string` that it inlines
// (its bug 105651), here in valijson's.
#pragma GCC diagnostic ignored "-Wrestrict"
#endif
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace attnbench::testing {

// The schema of that kind of result, as it is in the repository.
inline nlohmann::json SchemaOf(const std::string& kind) {
  std::ifstream file("results/schema/" + kind + ".schema.json");
  return nlohmann::json::parse(file);
}

// The schema of the `context` that every kind of result has: that of a sweep
// without what only a sweep knows.
inline nlohmann::json CommonContext() {
  auto context = SchemaOf("sweep")["properties"]["context"];
  for (const char* name : {"points", "shard", "limits", "calibration"}) {
    context["properties"].erase(name);
    auto& required = context["required"];
    required.erase(std::find(required.begin(), required.end(), name));
  }
  context["properties"].erase("runs");
  return context;
}

// The validator reads the library's unordered documents.
inline bool Validates(const nlohmann::json& schema_json,
                      const nlohmann::ordered_json& document) {
  valijson::Schema schema;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_json),
                      schema);
  const auto plain = nlohmann::json::parse(document.dump());
  return valijson::Validator(valijson::Validator::kStrongTypes)
      .validate(schema, valijson::adapters::NlohmannJsonAdapter(plain),
                nullptr);
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_SCHEMA_H_
