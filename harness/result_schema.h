// The JSON Schema (draft 7) of a sweep's result, made from the axis table: an
// axis that is added there is in the schema without a second list to forget.
// results/schema/sweep.schema.json is this text, committed for readers that do
// not have the program; a test compares the two.
#ifndef ATTNBENCH_HARNESS_RESULT_SCHEMA_H_
#define ATTNBENCH_HARNESS_RESULT_SCHEMA_H_

#include <string>

#include "harness/axes.h"

namespace attnbench {

inline constexpr int kSchemaVersion = 1;

Json ResultSchema(const AxisTable& table);

// The schema as it is printed and committed.
std::string ResultSchemaText(const AxisTable& table);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RESULT_SCHEMA_H_
