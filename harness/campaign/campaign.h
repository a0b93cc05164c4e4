// Takes a sweep from its first point to its result file, over however many runs
// that takes: finished points are in the journal (journal.h), and a resumed run
// goes on from there. Where the processor's clock drifted so far between points
// that times mean nothing, each run measures the points concerned
// (DriftedPoints, calibration.h: at most half of all) once more at its end,
// before the result is called invalid.
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
  bool resume = false;  // take equal points from the result and the journal
  std::optional<Shard> shard;  // which points; all where unset
  MeasurerOptions measurer;    // `limits` are measured where they are missing
};

struct CampaignEnd {
  bool nothing_to_do = false;  // the result was complete already
  bool interrupted = false;
  std::size_t num_points = 0;  // that all processes have measured
  // The file's result; unset if it has no point.
  std::optional<SweepResult> result = {};
};

// `context` comes from MakeContext. Throws UserError if the output exists or
// belongs to another run, if nothing can be taken from a result or journal, or
// if the disk is full; where this can be known early, before anything is
// measured. Finished points stay in the journal.
CampaignEnd RunCampaign(const Sweep& sweep, const Context& context,
                        const CampaignOptions& options);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_CAMPAIGN_H_
