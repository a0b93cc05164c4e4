// Experiment files (experiments/*.json): reading them, and their JSON Schema.
#ifndef ATTNBENCH_HARNESS_SWEEP_EXPERIMENT_H_
#define ATTNBENCH_HARNESS_SWEEP_EXPERIMENT_H_

#include <string>
#include <vector>

#include "harness/sweep/request.h"

namespace attnbench {

struct ProfileDocument;  // experiment_document.h

// An experiment file (experiments/README.md) as a request.
// `profile` is "full", the file's own values, or "quick", which replaces what
// it names, each axis by itself. Throws UserError with file and key, whichever
// profile is wrong; unknown keys name the nearest valid one. An exclusion that
// leaves nothing out in either profile is an error.
SweepRequest ReadExperiment(const std::string& path, const std::string& profile,
                            std::vector<PeerVariant> peer_variants = {});

// The request with what a profile says in the place of its own. Throws
// UserError naming `where`.
SweepRequest WithProfile(SweepRequest request, const ProfileDocument& profile,
                         const std::string& where);

// The JSON Schema (draft 7) of experiment files as it is printed, made from the
// axis table and the registered mechanisms, for editors and for who writes such
// files by program. results/schema/experiment.schema.json is this text,
// committed; a test compares the two. ReadExperiment still refuses what a
// schema cannot say (a range that ends before it begins, an exclusion that
// leaves nothing out).
std::string ExperimentSchemaText();

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_EXPERIMENT_H_
