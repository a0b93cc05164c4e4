// The values of the axis `workload`, taken apart.
#ifndef ATTNBENCH_HARNESS_SWEEP_WORKLOAD_NAME_H_
#define ATTNBENCH_HARNESS_SWEEP_WORKLOAD_NAME_H_

#include <string>
#include <string_view>

#include "harness/sweep/values.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

enum class WorkloadKind {
  kUniform,
  kPlanted,
  kDiagonal,
  kBias,
  kSymbols,
  kWaitK,
  kCopy,
  kFile,
  kCaptured,
};

inline constexpr double kLeastShare = 0.01;  // S of copy:S

// "bias:R" takes a finite number, "symbols:A:B" two from 0 on, "wait_k:K" a
// whole number from 1 on, "copy:S" a share from kLeastShare to 1, "file:CASE"
// and "captured:FILE" a file that can be read.
template <>
struct ValueNames<WorkloadKind> {
  static constexpr NamedValue<WorkloadKind> kAll[] = {
      {"uniform", WorkloadKind::kUniform},
      {"planted", WorkloadKind::kPlanted},
      {"diagonal", WorkloadKind::kDiagonal},
      {"bias:R", WorkloadKind::kBias},
      {"symbols:A:B", WorkloadKind::kSymbols},
      {"wait_k:K", WorkloadKind::kWaitK},
      {"copy:S", WorkloadKind::kCopy},
      {"file:CASE", WorkloadKind::kFile},
      {"captured:FILE", WorkloadKind::kCaptured}};
};

struct WorkloadName {
  WorkloadKind kind = WorkloadKind::kUniform;
  float bias = 0;        // R of bias:R, the same in both precisions
  float sharpness = 0;   // A of symbols:A:B
  float background = 0;  // and B
  Index lag = 1;         // K of wait_k:K
  double share = 1;      // S of copy:S
  std::string path;      // CASE of file:CASE, FILE of captured:FILE
};

// Throws UserError naming `where` for anything that is not a workload.
WorkloadName ParseWorkload(std::string_view text,
                           const std::string& where = "workload");

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_WORKLOAD_NAME_H_
