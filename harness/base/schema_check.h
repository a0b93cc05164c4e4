// Whether a document is as its JSON Schema (draft 7) wants it, told so that a
// person finds the place.
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
