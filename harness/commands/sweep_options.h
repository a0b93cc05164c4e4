// The options of `run-sweep`: how --help shows them, and what they ask for.
#ifndef ATTNBENCH_HARNESS_COMMANDS_SWEEP_OPTIONS_H_
#define ATTNBENCH_HARNESS_COMMANDS_SWEEP_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/campaign/campaign.h"
#include "harness/campaign/measurer.h"
#include "harness/sweep/axes.h"
#include "harness/sweep/shard.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

inline constexpr std::int64_t kMostSeconds = 86'400;  // of a limit

// The options; texts are as they were typed, and empty where one was not given.
struct SweepArguments {
  std::string experiment;
  std::string mechanisms;
  std::map<std::string, std::string> axes;  // axis name -> text
  std::vector<std::string> options;         // key=v1,v2
  std::optional<int> repetitions, trials, processes, builds;
  std::optional<std::uint64_t> seed;
  bool counts_instructions = false;
  std::string peer;
  std::int64_t peer_limit_s = 120;
  std::int64_t cell_limit_s = kDefaultCellLimit;
  std::optional<Shard> shard;
  std::string output;
  // These are for `attnbench claims`, and no help shows them: what its ledger
  // has in the place of a profile, a result whose limits of the machine hold,
  // and a result of which it asks whether it has these cells.
  std::string profile;
  std::string limits;
  std::string against;
  bool quick = false;
  bool dry_run = false;
  bool json = false;
  bool force = false;
  bool resume = false;
};

// Gives a command --option, whose values ParseMechanismOptions takes; `type` is
// how one looks.
CLI::Option* AddMechanismOptions(CLI::App& command, const std::string& help,
                                 const char* type,
                                 std::vector<std::string>& options);

// The values of each option of a mechanism, as they were typed. Throws
// UserError naming --option.
std::map<std::string, std::vector<OptionValue>> ParseMechanismOptions(
    const std::vector<std::string>& options);

// A case file that is the only workload sets the lengths itself, unless there
// are some. Captured energies set them for whatever stands beside them, as they
// are of no other lengths.
void AddLengthsOfFiles(std::map<std::string, std::vector<AxisValue>>& axes);

void AddSweepOptions(CLI::App& command, SweepArguments& arguments);

// The sweep that the user asks for: an experiment file, and the options that
// replace parts of it. Throws UserError naming option or file.
SweepRequest MakeRequest(const SweepArguments& arguments,
                         std::vector<PeerVariant> peer_variants);

// The way in which it is measured. Throws UserError naming the option.
CampaignOptions MakeCampaignOptions(const SweepArguments& arguments);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_SWEEP_OPTIONS_H_
