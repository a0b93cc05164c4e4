// attnbench-train: trains the models of an experiment and writes how well each
// decodes. `attnbench train` starts it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/printable.h"
#include "harness/machine/environment.h"
#include "harness/system/interrupt.h"
#include "harness/system/result_file.h"
#include "harness/system/source_tree.h"
#include "harness/trainer/experiment_runs.h"
#include "mechanisms/common/blas_threads.h"

namespace attnbench {
namespace {

constexpr int kMostJobs = 1024;

struct Arguments {
  std::string experiment;
  std::vector<std::string> only;
  bool quick = false;
  RunOptions options;
};

void AddOptions(CLI::App& app, Arguments& arguments) {
  RunOptions& options = arguments.options;
  app.add_option("EXPERIMENT", arguments.experiment,
                 "e.g. experiments/training/stretch.json")
      ->required();
  app.add_option("-o,--output", options.output,
                 "the result, e.g. -o stretch.result.json; checkpoints go to "
                 "FILE.checkpoints/")
      ->type_name("FILE")
      ->required();
  app.add_option("--only", arguments.only,
                 "only these alternatives, e.g. --only soft,mocha")
      ->type_name("NAME,...")
      ->delimiter(',');
  app.add_flag("--quick", arguments.quick, "the experiment's short profile");
  app.add_option("-j,--jobs", options.jobs,
                 "runs at the same time, a core each, e.g. -j 2")
      ->type_name("N")
      ->check(CLI::Range(1, kMostJobs))
      ->default_str("1");
  app.add_flag("--resume", options.resume,
               "go on with what is missing in the output");
  app.add_flag("--force", options.force, "replace the output")
      ->excludes("--resume");
  app.add_flag("--keep-checkpoints", options.keep_checkpoints,
               "keep the last checkpoint of each run: the trained model");
  app.add_option("--checkpoint-seconds", options.checkpoint_seconds,
                 "time between checkpoints, e.g. --checkpoint-seconds 10")
      ->type_name("S")
      ->check(CLI::NonNegativeNumber)
      ->default_str("60");
}

std::vector<TrainingRun> ChosenRuns(const TrainingExperiment& experiment,
                                    const Arguments& arguments) {
  std::vector<TrainingRun> runs =
      RunsOfExperiment(experiment, arguments.quick, arguments.experiment);
  if (arguments.only.empty()) return runs;
  std::vector<std::string> names;
  for (const auto& one : experiment.alternatives) names.push_back(one.name);
  for (const std::string& name : arguments.only) {
    if (Contains(names, name)) continue;
    throw UserError("--only", UnknownName("alternative", name, names));
  }
  std::erase_if(runs, [&](const TrainingRun& run) {
    return !Contains(arguments.only, run.name);
  });
  return runs;
}

int Run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "Trains the models of an experiment (experiments/training/) and "
      "writes how well each decodes.",
      "attnbench-train");
  app.set_version_flag("--version", VersionText,
                       "the program's version and commit");
  AddOptions(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    throw UserError("command line", error.what());
  }
  arguments.experiment = HereOrInSources(arguments.experiment);
  RefuseToReplace({arguments.experiment}, arguments.options.output);
  const TrainingExperiment experiment =
      ReadTrainingExperiment(arguments.experiment);
  const std::vector<TrainingRun> runs = ChosenRuns(experiment, arguments);
  TrainedResult result;
  result.context = MakeContext(
      fmt::format("{}", fmt::join(argv, argv + argc, " ")), experiment.seed);
  result.experiment = experiment.name;
  result.quick = arguments.quick;
  arguments.options.progress = stderr;
  CatchInterrupts();
  TrainRuns(runs, arguments.options, result);
  if (result.complete) return kGood;
  std::cerr << fmt::format(
      "attnbench-train: stopped; {} of {} runs are in {}. Resume with the same "
      "command plus --resume\n",
      result.runs.size(), runs.size(), arguments.options.output);
  return kInterrupted;
}

int Complain(const std::string& text, int code) {
  std::cerr << "attnbench-train: " << Printable(text) << std::endl;
  return code;
}

int Main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const UserError& error) {
    return Complain(error.what(), kWrongUsage);
  } catch (const std::bad_alloc&) {
    return Complain("there is no memory left", kInternalError);
  } catch (const std::exception& error) {
    return Complain(std::string("internal error: ") + error.what(),
                    kInternalError);
  }
}

}  // namespace
}  // namespace attnbench

int main(int argc, char** argv) {
  attnbench::UseOneBlasThread();
  return attnbench::Main(argc, argv);
}
