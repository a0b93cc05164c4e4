// Compares what decides how long things take: the Setup of two results
// (context.h) and of each of their runs. What changes from run to run on one
// machine (load, date, measured limits) is left out, as it differs in every
// pair.
#ifndef ATTNBENCH_HARNESS_MACHINE_FINGERPRINT_H_
#define ATTNBENCH_HARNESS_MACHINE_FINGERPRINT_H_

#include <map>
#include <string>
#include <vector>

#include "harness/machine/context.h"

namespace attnbench {

// The setup of one run of a context, as JSON: the context's, with what
// `differs` for the run.
Json SetupOf(const Setup& context, const MeasuringRun& run);

// The `differs` of a run with the setup `run` (from SetupOf).
std::map<std::string, Json> DifferingMembers(const Setup& context,
                                             const Json& run);

// Gives 16 hexadecimal digits, the same for the same program and machine.
std::string FingerprintHash(const Setup& setup);

struct FingerprintDifference {
  std::string field;  // "governor", or "loaded.blas.core" of one with members
  Json a;             // null if it is missing; if runs of `a` differ among
                      // themselves, a list of what they have, each once
  Json b;
};

// The differences of two setups, as JSON, in the order of their members. A
// member with members of its own is compared member by member. A setup that
// lacks a member is from before it: nobody knows whether they differ there.
std::vector<FingerprintDifference> SetupDifferences(const Json& a,
                                                    const Json& b);

// The differences of two contexts. A field in which runs of `a` or of `b`
// differ among themselves always counts, as nobody knows which cells come from
// which run.
std::vector<FingerprintDifference> FingerprintDifferences(
    const SweepContext& a, const SweepContext& b);

// The first of them, for people: "cpu was "x" and is "y""; empty where there is
// none.
std::string DifferenceText(const SweepContext& before, const SweepContext& now);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_FINGERPRINT_H_
