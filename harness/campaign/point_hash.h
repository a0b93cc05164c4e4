// Names a point by everything that its results follow from, so that a resumed
// or merged run takes equal points and measures others again.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_POINT_HASH_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_POINT_HASH_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/machine/context.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// The files that are workloads of a sweep, with the arrays that they name.
// Somebody may edit them between two runs, or during one.
class WorkloadFiles {
 public:
  // Reads all of them. Throws UserError if one cannot be read.
  explicit WorkloadFiles(const Sweep& sweep);
  // A hash of what they held then; "" for a workload that is no file.
  const std::string& HashOf(const Point& point) const;
  // Whether they hold the same now. Throws UserError if they cannot be read.
  bool AreUnchanged(const Point& point) const;
  // What a result says of them.
  const std::vector<WorkloadFile>& described() const { return described_; }

 private:
  struct Contents {
    std::vector<std::string> files;
    std::string hash;
  };
  const Contents& ContentsOf(const Point& point) const;

  std::map<std::string, Contents> contents_;  // of each workload
  std::vector<WorkloadFile> described_;
};

// Gives 16 hexadecimal digits, a hash of the point's cells with their reasons
// to be skipped, the files of its workload, the peer (PeerIdentity,
// peer/files.h) if a cell is the peer's, the sweep's seed, repetitions, trials
// and processes, the program's build and how many relinks of it measure. The
// point's place in the sweep is left out, so that a longer axis keeps its
// points; so is the time limit, as a cell that met it says which it was
// (context.h).
std::string PointHash(const Sweep& sweep, const Point& point,
                      const WorkloadFiles& files, std::string_view build_id,
                      std::int64_t num_builds, std::string_view peer);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_POINT_HASH_H_
