// Times as a machine would give them, from counter-based random numbers: every
// process has a layout of its own that makes a cell faster or slower in all of
// its rounds, every round has a machine that is a little slower or faster for
// all cells, each sample has noise of its own, some are disturbed, and the
// clock rate drifts over a process. No real clock is read.
#ifndef ATTNBENCH_TESTS_SUPPORT_SIMULATED_CLOCK_H_
#define ATTNBENCH_TESTS_SUPPORT_SIMULATED_CLOCK_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "mechanisms/common/philox.h"

namespace attnbench::testing {

enum class Layout {
  kNormal,  // logarithms are normal with standard deviation `layout`
  kTwo,     // each process has one of two speeds, exp(-layout) and exp(layout)
  kBounded  // uniform over a factor of exp(2 layout)
};

struct ClockModel {
  Layout kind = Layout::kNormal;
  double layout = 0.02;
  double machine = 0.02;     // of a round, for all cells together
  double noise = 0.01;       // of a sample
  double disturbed = 0.04;   // share of the samples that are disturbed
  double disturbance = 0.3;  // how much longer these take on average
  double drift = 0.01;       // standard deviation of the change over a process
};

// The samples of cells in one run; another `run` is another execution of the
// same sweep.
class SimulatedClock {
 public:
  SimulatedClock(const ClockModel& model, std::uint64_t seed)
      : model_(model), seed_(seed) {}

  // The samples [process x rounds] of a cell whose true time is `time_ns`.
  std::vector<double> SamplesNs(std::uint32_t run, std::uint32_t cell,
                                double time_ns, int processes,
                                int rounds) const {
    std::vector<double> samples;
    for (int process = 0; process < processes; ++process) {
      const double layout = LogLayout(run, cell, process);
      const double drift = model_.drift * Normal(run, kDrift, process, 0);
      for (int round = 0; round < rounds; ++round) {
        const double machine =
            model_.machine * Normal(run, kMachine, process, round);
        const double noise =
            model_.noise * Normal(run, kNoise + cell, process, round);
        double log = layout + machine + noise + drift * round / rounds;
        const auto words = Words(run, kDisturbance + cell, process, round);
        if (Uniform24(words[0]) < model_.disturbed) {
          log -= model_.disturbance * std::log(1 - Uniform24(words[1]));
        }
        samples.push_back(time_ns * std::exp(log));
      }
    }
    return samples;
  }

 private:
  // The numbers of the streams; the last three leave room for one stream a
  // cell.
  static constexpr std::uint32_t kDrift = 0;
  static constexpr std::uint32_t kMachine = 1;
  static constexpr std::uint32_t kNoise = 1000;
  static constexpr std::uint32_t kDisturbance = 2000;
  static constexpr std::uint32_t kLayout = 3000;

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

  double LogLayout(std::uint32_t run, std::uint32_t cell, int process) const {
    const auto words = Words(run, kLayout + cell, process, 0);
    switch (model_.kind) {
      case Layout::kNormal:
        return model_.layout * StandardNormal(words);
      case Layout::kTwo:
        return Uniform24(words[0]) < 0.5 ? -model_.layout : model_.layout;
      default:
        return model_.layout * SymmetricUniform24(words[0]);
    }
  }

  // No purpose of the harness has this number.
  static constexpr std::uint32_t kSimulationPurpose = 0x7fffffff;

  const ClockModel model_;
  const std::uint64_t seed_;
};

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_SIMULATED_CLOCK_H_
