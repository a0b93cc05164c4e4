// Checks a document against its JSON Schema (draft 7); its errors name the
// place for a person.
#ifndef ATTNBENCH_HARNESS_BASE_SCHEMA_CHECK_H_
#define ATTNBENCH_HARNESS_BASE_SCHEMA_CHECK_H_

#include <string>

#include "harness/base/json.h"

namespace attnbench {

// Throws UserError naming `path`, the place in the document, and the schema by
// `schema_name`.
void CheckSchema(const Json& schema, const std::string& schema_name,
                 const Json& document, const std::string& path);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_SCHEMA_CHECK_H_
