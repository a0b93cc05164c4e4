// attnbench computed: the exact quantities that standard input asks for, which
// is how `attnbench claims` gets them (python/attnbench/judge/measure.py).
#include "harness/claims/computed.h"

#include <memory>
#include <optional>
#include <string>

#include "harness/base/exit_code.h"
#include "harness/base/input_file.h"
#include "harness/base/json_file.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/machine/environment.h"
#include "harness/system/result_file.h"

namespace attnbench {
namespace {

constexpr std::uint64_t kSeed = 1;

// Checks what is asked, and computes it if there is an output.
int Compute(const std::string& command_line, const std::string& output,
            bool force) {
  const std::optional<ResultFile> file = FileIfNamed(output, force);
  const std::vector<Computation> computations = ReadQuantities(
      FromJson<std::vector<AskedQuantity>>(ReadJsonFile(kStandardInput), "-"));
  if (!file) return kGood;
  ComputedResult result{.context = MakeContext(command_line, kSeed)};
  for (const Computation& compute : computations) {
    for (ComputedRow& row : compute(kSeed)) {
      result.quantities.push_back(std::move(row));
    }
  }
  file->Write(ToJson(result));
  return kGood;
}

}  // namespace

void AddComputed(CLI::App& app, const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "computed", "compute quantities that standard input asks for");
  command->group("");
  const auto output = std::make_shared<std::string>();
  const auto force = std::make_shared<bool>(false);
  AddOutput(*command, "the result", "exact.json", *output, *force);
  OnAsked(*command, run, [command_line, output, force] {
    return Compute(command_line, *output, *force);
  });
}

}  // namespace attnbench
