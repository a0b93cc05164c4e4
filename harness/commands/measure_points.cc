// attnbench measure-points: what run-sweep starts to measure points in
// (harness/worker.h); nobody types it, so no help shows it.
#include "harness/commands/commands.h"
#include "harness/worker.h"

namespace attnbench {

void AddMeasurePoints(CLI::App& app, Command& run) {
  CLI::App* const command = app.add_subcommand(
      kWorkerCommand, "measure points that standard input describes");
  command->group("");
  command->callback([&run] {
    run = [] {
      ServeWorker();
      return 0;
    };
  });
}

}  // namespace attnbench
