// Part of a run of `attnbench verify` as a document, and such parts put
// together again. Whether a comparison fails depends on all p-values of the run
// (Holm's procedure), so a shard carries every one of them and no verdict; what
// is judged after the merge is bit for bit what one run would have judged.
#ifndef ATTNBENCH_HARNESS_VERIFY_SHARD_H_
#define ATTNBENCH_HARNESS_VERIFY_SHARD_H_

#include <string>
#include <vector>

#include "harness/result_reader.h"
#include "harness/shard.h"
#include "harness/verify_report.h"

namespace attnbench {

inline constexpr char kVerifyShardKind[] = "verify_shard";

// `reports`: of those of `cases`, the whole run's, that the shard has, in their
// order, not judged. results/schema/verify_shard.schema.json is its schema.
Json VerifyShardDocument(const std::vector<CaseReport>& reports,
                         const VerifyRun& run, const Shard& shard,
                         const std::vector<VerifyCase>& cases);

struct MergedVerify {
  std::vector<CaseReport> reports;  // of all cases, judged
  VerifyRun run;  // its context is the first file's, with a warning for
                  // whatever another shard was measured with that it was not
  // Which shards there is no file of ("shards 1/4, 3/4 are missing"), and no
  // reports then; else empty.
  std::string missing;
};

// Throws UserError naming the file: a shard that is there twice, or is of
// another run (commit, build, SIMD level, seed, level, trials, cases), or what
// is no shard.
MergedVerify MergeVerifyShards(const std::vector<ResultDocument>& files);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_SHARD_H_
