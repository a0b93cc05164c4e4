// What a sweep takes for the options of its mechanisms.
#ifndef ATTNBENCH_HARNESS_SWEEP_OPTIONS_H_
#define ATTNBENCH_HARNESS_SWEEP_OPTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "harness/sweep/request.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// Throws UserError naming `where` for an option that is none of `specs`.
void CheckOptionNames(
    const std::map<std::string, std::vector<OptionValue>>& options,
    const std::vector<OptionSpec>& specs, const std::string& where);

// The values of an option for an alternative, in the option's type: those that
// it gives, else the request's, else the default. A reference, such as "=T",
// stays a text. Throws UserError naming the option for a value that it cannot
// have.
std::vector<OptionValue> OptionValuesOf(const OptionSpec& spec,
                                        const SweepRequest& request,
                                        const Alternative& alternative);

// Throws UserError for an option that is given, but read under a policy that is
// none of the plan's. `values` are those of each of `specs`.
void CheckPolicies(const SweepRequest& request, const Alternative& alternative,
                   const std::vector<OptionSpec>& specs,
                   const std::vector<std::vector<OptionValue>>& values);

// Leaves out what a cell of this variant and mode does not read: options of
// other variants at their default, so that a result from before such an option
// has the same cells, and a peer, which refuses what it does not know, is not
// asked about it; and a policy in training, or at its default, with the options
// of others.
void LeaveOutUnread(const std::vector<OptionSpec>& specs,
                    const std::string& variant, Mode mode,
                    std::map<std::string, OptionValue>& options);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_OPTIONS_H_
