// In what two results differ that decides how long things take: their Setup
// (context.h), and that of each of their runs. What changes from run to run on
// one machine (load, date, measured limits) is no part of it: whoever compared
// that saw differences everywhere.
#ifndef ATTNBENCH_HARNESS_MACHINE_FINGERPRINT_H_
#define ATTNBENCH_HARNESS_MACHINE_FINGERPRINT_H_

#include <map>
#include <string>
#include <vector>

#include "harness/machine/context.h"

namespace attnbench {

// The setup of one run of a context, as JSON: the context's, with what
// `differs` for the run.
Json SetupOf(const Setup& context, const Run& run);

// What a run with the setup `run` (as SetupOf gives it) says in `differs`.
std::map<std::string, Json> DifferingMembers(const Setup& context,
                                             const Json& run);

// 16 hexadecimal digits: the same for the same program and machine.
std::string FingerprintHash(const Setup& setup);

struct FingerprintDifference {
  std::string field;  // "governor", or "libraries.fmt" of one with members
  Json a;  // null where it is missing; where runs of `a` differ among
           // themselves, a list of what they have, each once
  Json b;
};

// Where two setups, as JSON, differ, in the order of their members; of a member
// with members of its own, each by itself.
std::vector<FingerprintDifference> SetupDifferences(const Json& a,
                                                    const Json& b);

// The same of two contexts. A field in which runs of `a` or of `b` differ among
// themselves is a difference whatever the other has: nobody knows which cells
// come from which.
std::vector<FingerprintDifference> FingerprintDifferences(
    const SweepContext& a, const SweepContext& b);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_FINGERPRINT_H_
