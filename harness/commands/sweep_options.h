// The options of `run-sweep`: how they are told in --help, kept as they were
// typed, and read.
#ifndef ATTNBENCH_HARNESS_COMMANDS_SWEEP_OPTIONS_H_
#define ATTNBENCH_HARNESS_COMMANDS_SWEEP_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/campaign/campaign.h"
#include "harness/sweep/axes.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// As typed; empty where an option was not given. Numbers stay text so that
// every wrong value is refused in the same words.
struct SweepArguments {
  std::string experiment;
  std::string mechanisms;
  std::map<std::string, std::string> axes;  // by name
  std::vector<std::string> options;         // key=v1,v2
  std::string repetitions;
  std::string trials;
  std::string seed;
  std::string peer;
  std::string peer_limit;
  std::string processes;
  std::string cell_limit;
  std::string shard;
  std::string output;
  bool quick = false;
  bool dry_run = false;
  bool json = false;
  bool force = false;
  bool resume = false;
};

void AddSweepOptions(CLI::App& command, const AxisTable& table,
                     SweepArguments& arguments);

// What is asked for: an experiment file, and the options that replace what it
// says. Throws UserError naming option or file.
SweepRequest MakeRequest(const AxisTable& table,
                         const SweepArguments& arguments);

// How it is to be measured. Throws UserError naming the option.
CampaignOptions MakeCampaignOptions(const SweepArguments& arguments);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_SWEEP_OPTIONS_H_
