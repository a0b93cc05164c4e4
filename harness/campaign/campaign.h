// A sweep from its first point to its result file, over however many runs that
// takes: what is finished is in the journal (journal.h), and a run that resumes
// goes on from there.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_CAMPAIGN_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_CAMPAIGN_H_

#include <optional>
#include <string>

#include "harness/campaign/measurer.h"
#include "harness/results/sweep_result.h"
#include "harness/sweep/shard.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

struct CampaignOptions {
  std::string output;   // the result file
  bool force = false;   // begin anew, whatever is there
  bool resume = false;  // take from the result and the journal what is the same
  std::optional<Shard> shard;  // which points; none: all
  MeasurerOptions measurer;    // `limits` are measured where they are missing
};

struct CampaignEnd {
  bool nothing_to_do = false;  // the result is whole already, and untouched
  bool interrupted = false;
  std::size_t num_points = 0;  // finished, none of them to be measured again
  // What is in the file; none where there is no point.
  std::optional<SweepResult> result = {};
};

// `context` is that of MakeContext. Throws UserError, before anything is
// measured where that can be known: for an output that is there or another
// run's, for a result or journal of which nothing can be taken, for a full
// disk. What is finished by then stays in the journal.
CampaignEnd RunCampaign(const AxisTable& table, const Sweep& sweep,
                        const Context& context, const CampaignOptions& options);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_CAMPAIGN_H_
