// The JSON Schema (draft 7) of experiment files, made from the axis table and
// the registered mechanisms, for editors and for who writes such files by
// program. results/schema/experiment.schema.json is this text, committed; a
// test compares the two. ReadExperiment still refuses what a schema cannot say
// (a range that ends before it begins, an exclusion that leaves nothing out).
#ifndef ATTNBENCH_HARNESS_SWEEP_EXPERIMENT_SCHEMA_H_
#define ATTNBENCH_HARNESS_SWEEP_EXPERIMENT_SCHEMA_H_

#include <string>

#include "harness/sweep/axes.h"

namespace attnbench {

// The schema as it is printed and committed.
std::string ExperimentSchemaText();

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_EXPERIMENT_SCHEMA_H_
