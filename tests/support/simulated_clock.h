// Times as a machine would give them, from counter-based random numbers: a run
// has a machine that is slower or faster for all cells, and in some for one
// cell more than for another; a build has a layout that makes a cell faster or
// slower in all of its processes; so has a process in all of its rounds; every
// round has a machine that is a little slower or faster for all cells, each
// sample has noise of its own, some are disturbed, and the clock rate drifts
// over a process. No real clock is read.
#ifndef ATTNBENCH_TESTS_SUPPORT_SIMULATED_CLOCK_H_
#define ATTNBENCH_TESTS_SUPPORT_SIMULATED_CLOCK_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "mechanisms/common/philox.h"

namespace attnbench::testing {

// Standard deviations of logarithms, unless something else is said.
struct ClockModel {
  double machine_of_run = 0.1;  // of a run, for all cells together
  double run = 0.014;           // of a cell in a run
  double build = 0.021;         // of a cell in a build
  // Each build has one of two speeds, exp(-build) and exp(build).
  bool two_speeds = false;
  double process = 0.02;     // of a cell in a process
  double machine = 0.02;     // of a round, for all cells together
  double noise = 0.01;       // of a sample
  double disturbed = 0.04;   // share of the samples that are disturbed
  double disturbance = 0.3;  // how much longer these take on average
  double drift = 0.01;       // of the change over a process
};

// What measures: process k is of build `first_build` + k mod `builds`.
struct SimulatedRun {
  std::uint32_t run = 0;  // another one is another execution of the same sweep
  int processes = 10;
  int rounds = 5;
  int first_build = 0;
  int builds = 1;
};

class SimulatedClock {
 public:
  SimulatedClock(const ClockModel& model, std::uint64_t seed)
      : model_(model), seed_(seed) {}

  // The samples [process x rounds] of a cell whose true time is `time_ns`.
  std::vector<double> SamplesNs(const SimulatedRun& of, std::uint32_t cell,
                                double time_ns) const {
    const std::uint32_t run = of.run;
    std::vector<double> samples;
    const double of_run = model_.machine_of_run * Normal(run, kRun, 0, 0) +
                          model_.run * Normal(run, kRun + 1 + cell, 0, 0);
    for (int process = 0; process < of.processes; ++process) {
      const double layout =
          of_run + OfBuild(cell, of.first_build + process % of.builds) +
          model_.process * Normal(run, kProcess + cell, process, 0);
      const double drift = model_.drift * Normal(run, kDrift, process, 0);
      for (int round = 0; round < of.rounds; ++round) {
        const double machine =
            model_.machine * Normal(run, kMachine, process, round);
        const double noise =
            model_.noise * Normal(run, kNoise + cell, process, round);
        double log = layout + machine + noise + drift * round / of.rounds;
        const auto words = Words(run, kDisturbance + cell, process, round);
        if (Uniform24(words[0]) < model_.disturbed) {
          log -= model_.disturbance * std::log(1 - Uniform24(words[1]));
        }
        samples.push_back(time_ns * std::exp(log));
      }
    }
    return samples;
  }

  // Normal numbers for tests, by two counters.
  double Normal(std::uint32_t a, int b) const {
    return Normal(a, kOthers, b, 0);
  }

 private:
  // The numbers of the streams; from kNoise on they leave room for one stream a
  // cell.
  static constexpr std::uint32_t kDrift = 0;
  static constexpr std::uint32_t kMachine = 1;
  static constexpr std::uint32_t kOthers = 2;
  static constexpr std::uint32_t kNoise = 1000;
  static constexpr std::uint32_t kDisturbance = 2000;
  static constexpr std::uint32_t kProcess = 3000;
  static constexpr std::uint32_t kRun = 4000;
  static constexpr std::uint32_t kBuild = 5000;

  std::array<std::uint32_t, 4> Words(std::uint32_t run, std::uint32_t stream,
                                     int process, int round) const {
    const std::uint64_t index = (std::uint64_t{run} << 32) +
                                static_cast<std::uint64_t>(process * 1000) +
                                static_cast<std::uint64_t>(round);
    return Philox(seed_, kSimulationPurpose, stream, index);
  }

  double Normal(std::uint32_t run, std::uint32_t stream, int process,
                int round) const {
    return StandardNormal(Words(run, stream, process, round));
  }

  double OfBuild(std::uint32_t cell, int build) const {
    const auto words = Words(0, kBuild + cell, build, 0);
    if (!model_.two_speeds) return model_.build * StandardNormal(words);
    return Uniform24(words[0]) < 0.5 ? -model_.build : model_.build;
  }

  // No purpose of the harness has this number.
  static constexpr std::uint32_t kSimulationPurpose = 0x7fffffff;

  const ClockModel model_;
  const std::uint64_t seed_;
};

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_SIMULATED_CLOCK_H_
