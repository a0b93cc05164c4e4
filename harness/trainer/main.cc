// attnbench-train: trains the models of an experiment and writes how well each
// decodes. `attnbench train` starts it.
#include <fmt/format.h>

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
#include "harness/training/train_options.h"
#include "mechanisms/common/blas_threads.h"
#include "mechanisms/kernels/self_test.h"

namespace attnbench {
namespace {

std::vector<TrainingRun> ChosenRuns(const TrainingExperiment& experiment,
                                    const TrainOptions& options) {
  std::vector<TrainingRun> runs =
      RunsOfExperiment(experiment, options.quick, options.experiment);
  if (options.only.empty()) return runs;
  std::vector<std::string> names;
  for (const auto& one : experiment.alternatives) names.push_back(one.name);
  for (const std::string& name : options.only) {
    if (Contains(names, name)) continue;
    throw UserError("--only", UnknownName("alternative", name, names));
  }
  std::erase_if(runs, [&](const TrainingRun& run) {
    return !Contains(options.only, run.name);
  });
  return runs;
}

int Run(int argc, char** argv) {
  TrainOptions options;
  CLI::App app(
      "Trains the models of an experiment (experiments/training/) and "
      "writes how well each decodes.",
      "attnbench-train");
  AddTrainOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    throw UserError("command line", error.what());
  }
  CheckBestKernels();
  options.experiment = HereOrInSources(options.experiment);
  RefuseToReplace({options.experiment}, options.output);
  const TrainingExperiment experiment =
      ReadTrainingExperiment(options.experiment);
  const std::vector<TrainingRun> runs = ChosenRuns(experiment, options);
  TrainedResult result;
  result.context = MakeContext(
      fmt::format("{}", fmt::join(argv, argv + argc, " ")), experiment.seed);
  result.experiment = experiment.name;
  result.quick = options.quick;
  CatchInterrupts();
  TrainRuns(runs, options, stderr, result);
  if (result.complete) return kGood;
  std::cerr << fmt::format(
      "attnbench-train: stopped; {} of {} runs are in {}. Resume with the same "
      "command plus --resume\n",
      result.runs.size(), runs.size(), options.output);
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
    // libtorch adds lines with where it was.
    const std::string text = error.what();
    return Complain("internal error: " + text.substr(0, text.find('\n')),
                    kInternalError);
  }
}

}  // namespace
}  // namespace attnbench

int main(int argc, char** argv) {
  attnbench::UseOneBlasThread();
  return attnbench::Main(argc, argv);
}
