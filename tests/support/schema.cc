#include "tests/support/schema.h"

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

bool Validates(const nlohmann::json& schema_json, const Json& document) {
  // The validator reads the library's unordered documents.
  const auto plain = nlohmann::json::parse(document.dump());
  valijson::Schema schema;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_json),
                      schema);
  return valijson::Validator(valijson::Validator::kStrongTypes)
      .validate(schema, valijson::adapters::NlohmannJsonAdapter(plain),
                nullptr);
}

}  // namespace attnbench::testing
