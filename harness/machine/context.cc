#include "harness/machine/context.h"

namespace attnbench {

MeasuringRun RunOf(const Context& context,
                   std::optional<std::int64_t> cell_limit_s,
                   std::optional<std::int64_t> peer_limit_s) {
  MeasuringRun run;
  run.date = context.date;
  run.command = context.command;
  run.cell_limit_s = cell_limit_s;
  run.peer_limit_s = peer_limit_s;
  run.load = context.load;
  run.load_end = context.load_end;
  run.invalid_reasons = context.invalid_reasons;
  run.warnings = context.warnings;
  return run;
}

}  // namespace attnbench
