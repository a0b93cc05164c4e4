// Validates a document against a schema of results/schema/.
#ifndef ATTNBENCH_TESTS_SUPPORT_SCHEMA_H_
#define ATTNBENCH_TESTS_SUPPORT_SCHEMA_H_

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "harness/base/json.h"

namespace attnbench::testing {

// The schema of that kind of result, as it is in the repository.
inline std::string SchemaFile(const std::string& kind) {
  std::ostringstream text;
  text << std::ifstream("results/schema/" + kind + ".schema.json").rdbuf();
  return text.str();
}
inline nlohmann::json SchemaOf(const std::string& kind) {
  return nlohmann::json::parse(SchemaFile(kind));
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
  for (const char* name :
       {"cells_of_points", "processes", "runs", "workload_files"}) {
    context["properties"].erase(name);
  }
  return context;
}

// It has a source of its own: the headers of the library behind it take longer
// to compile than a test.
bool Validates(const nlohmann::json& schema, const Json& document);

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_SCHEMA_H_
