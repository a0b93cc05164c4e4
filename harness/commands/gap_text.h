// What `attnbench gap` prints of its result, and `attnbench show` after it.
#ifndef ATTNBENCH_HARNESS_COMMANDS_GAP_TEXT_H_
#define ATTNBENCH_HARNESS_COMMANDS_GAP_TEXT_H_

#include <string>

#include "harness/gap/result.h"

namespace attnbench {

// A table with a line for each point, and a sentence about the one with the
// largest gap.
std::string GapText(const GapResult& result);
// A table of the parts, and a sentence about those of the loss.
std::string GapText(const ModelGap& model);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_GAP_TEXT_H_
