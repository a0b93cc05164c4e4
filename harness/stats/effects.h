// The committed estimates of what one run of one program does not show: by how
// much times move from build to build, from process to process and from run to
// run. They are in results/effects.json (results/schema/effects.schema.json),
// which CMake compiles into the program, so that it needs no file.
#ifndef ATTNBENCH_HARNESS_STATS_EFFECTS_H_
#define ATTNBENCH_HARNESS_STATS_EFFECTS_H_

#include <string>

#include "harness/base/document.h"
#include "harness/stats/statistics.h"

namespace attnbench {

struct Effects {
  Effect time;   // of a time alone, so the machine's state is in it
  Effect ratio;  // of the ratio of two of our cells of one run
  Effect peer;   // of the ratio of a cell of ours and one of a peer
};

// Throws UserError where the document is not as its schema says.
Effects EffectsOf(const Json& document, const std::string& path);

const Effects& CommittedEffects();

// The text of results/schema/effects.schema.json.
std::string EffectsSchemaText();

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STATS_EFFECTS_H_
