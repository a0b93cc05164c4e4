// The processes that `attnbench gap` compares. Each is run output by output, as
// states follow from contexts:
//
//   expectation  alpha of MAD eq 9 from the energies of s_i, c_i = sum over j
//                of alpha(i, j) h_j, and s_{i+1} from that c_i
//   sampled      z ~ Bernoulli(p), c_i = h_t(i): a trial of mechanisms/sample.h
//   threshold    the same with z = [p >= 1/2]
//
// All of it is in double. An output that chooses none has the context 0, and so
// have all that follow (EndPolicy::kAbsorb, which is MAD eq 9's).
#ifndef ATTNBENCH_HARNESS_GAP_PROCESSES_H_
#define ATTNBENCH_HARNESS_GAP_PROCESSES_H_

#include <cstdint>
#include <functional>

#include "harness/gap/closed_loop.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// One output of a path; the entry is T where none is chosen.
struct PathStep {
  Index output = 0, entry = 0;
  std::span<const double> state, context, probabilities;
};

// Sums over paths, of what they chose and put out, and of their states and
// contexts.
struct PathSums {
  Marginals marginals;
  Table<double> states;    // [U, n]
  Table<double> contexts;  // [U, d]
  double weight = 0;

  explicit PathSums(const ClosedLoop& loop);
  void AddStep(const PathStep& step, double step_weight = 1);
  void Add(const PathSums& other);
};

// The means of the sums: where the process chooses, and what it puts out.
Marginals MeansOf(const PathSums& sums);
// The same entries, but the outputs of the mean state and the mean context,
// p(y | E[s_i], E[c_i]): what training makes of this distribution of entries.
Marginals AtMeanContext(const ClosedLoop& loop, const PathSums& sums);

// Runs the processes of one decoder. One object serves one thread; `loop`
// outlives it.
class Processes {
 public:
  explicit Processes(const ClosedLoop& loop);

  struct Noise {
    double deviation = 0;  // what is added to energies is N(0, deviation^2)
    std::uint64_t seed = 1;
    std::uint32_t stream = 0;
  };
  Marginals Expectation(const Noise& noise);
  Marginals Threshold();
  // Calls on_step(step) for each output of trial `path` of the sampled process,
  // a function of (seed, path).
  using OnStep = std::function<void(const PathStep&)>;
  void Sample(std::uint64_t seed, std::uint32_t path, const OnStep& on_step) {
    Decode(sampling_, seed, path, on_step);
  }

  // Writes the alpha [T] of one output: MAD eq 9 from where the scan begins [T]
  // with what probability, and energies [T].
  void Select(std::span<const double> start, std::span<const double> energies,
              std::span<double> alpha) const;

 private:
  void Decode(const Config& config, std::uint64_t seed, std::uint32_t path,
              const OnStep& on_step);

  const ClosedLoop& loop_;
  const Mechanism<double>& mechanism_;
  const Config config_, sampling_;
  Table<double> energies_;  // [U, T]
};

// The closed loop without chance: every path with its probability, by the
// product of MAD eq 8's p and 1 - p alone. A decoder of U outputs over T
// entries has at most (T + 1)^U paths, so both are at most 4 or so.
PathSums EnumeratePaths(const ClosedLoop& loop);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_GAP_PROCESSES_H_
