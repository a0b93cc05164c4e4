#include "harness/claims/measure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/json_file.h"
#include "harness/campaign/campaign.h"
#include "harness/campaign/progress.h"
#include "harness/claims/computed.h"
#include "harness/machine/environment.h"
#include "harness/results/sweep_result.h"
#include "harness/stability/stability.h"
#include "harness/sweep/experiment.h"
#include "harness/system/interrupt.h"
#include "harness/system/python.h"
#include "harness/system/result_file.h"
#include "harness/verify/verify.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr char kAuthors[] = "experiments/authors/measure.py";

// What cannot be read, such as a loop of links, is there.
bool IsThere(const std::string& path) {
  std::error_code error;
  return std::filesystem::status(path, error).type() !=
         std::filesystem::file_type::not_found;
}

class ClaimsMeasurer {
 public:
  ClaimsMeasurer(const ClaimsLedger& ledger, const ClaimsOptions& options)
      : ledger_(ledger), options_(options) {}

  // There may be no document where the user has interrupted.
  MeasuredDocument Measure(const std::string& name) {
    const Measurement& measurement = ledger_.measurements.at(name);
    const std::string& kind = measurement.kind;
    if (kind == "trained") return FindTrained(measurement);
    const std::string path = PathOf(name);
    if (options_.judge) return FindStored(name, path);
    if (kind == "sweep") {
      Sweep(name, measurement, path);
    } else if (kind == "authors") {
      Authors(path);
    } else {
      const ResultFile file(path, options_.force || options_.resume);
      file.Write(kind == "verify"      ? Verify(measurement)
                 : kind == "stability" ? Stability()
                                       : Computed(name));
    }
    return Found(path);
  }

 private:
  std::string PathOf(const std::string& name) const {
    return (std::filesystem::path(options_.folder) / (name + ".json")).string();
  }
  // Seen from here: it goes into results, which others read elsewhere.
  std::string InRoot(const std::string& path) const {
    const auto whole = std::filesystem::path(options_.root) / path;
    std::error_code error;
    const auto here = std::filesystem::current_path(error);
    if (error) return whole.string();  // somebody has removed the folder
    const auto seen = std::filesystem::proximate(whole, here, error);
    return (error ? whole : seen).string();
  }
  Context OwnContext() const {
    return MakeContext(options_.command_line, kSeed);
  }

  MeasuredDocument Found(const std::string& path) const {
    return {.path = path,
            .file = options_.is_kept ? std::optional(path) : std::nullopt};
  }

  SweepRequest RequestOf(const std::string& name,
                         const Measurement& measurement, bool quick) const {
    const std::string path =
        InRoot("experiments/" + measurement.experiment + ".json");
    const std::string profile = quick ? "quick" : "full";
    const auto& own = quick ? measurement.quick : measurement.full;
    if (!own) return ReadExperiment(path, profile);
    return WithProfile(ReadExperiment(path, "full"), *own,
                       "measurement " + name + ": " + profile);
  }

  void Sweep(const std::string& name, const Measurement& measurement,
             const std::string& path) {
    attnbench::Sweep sweep =
        ExpandSweep(RequestOf(name, measurement, options_.quick));
    SkipThreadsBeyond(Cores(), sweep);
    CampaignOptions campaign;
    campaign.output = path;
    campaign.force = options_.force;
    campaign.resume = options_.resume;
    campaign.measurer.builds = options_.builds;
    if (!options_.builds.empty()) {
      sweep.processes = static_cast<int>(options_.builds.size());
    }
    campaign.measurer.limits = limits_;  // known, so not measured again
    const CampaignEnd end = RunCampaign(
        sweep, MakeContext(options_.command_line, sweep.seed), campaign);
    if (!end.interrupted) limits_ = end.result->context.limits;
  }

  void Authors(const std::string& path) const {
    // A place that cannot be written must show before minutes of measuring.
    [[maybe_unused]] const ResultFile place(path,
                                            options_.force || options_.resume);
    std::vector<std::string> arguments = {"--output=" + path};
    if (options_.quick) arguments.emplace_back("--quick");
    const int status = RunAuthors(options_.eigens, std::move(arguments));
    if (status == kGood || WasInterrupted()) return;
    throw UserError(kAuthors, fmt::format("ended with exit code {}", status));
  }

  Json Verify(const Measurement& measurement) const {
    const VerifyOptions options{
        .trials = options_.quick ? measurement.quick->trials.value()
                                 : measurement.trials,
        .seed = kSeed,
        .threads = Cores()};
    std::vector<VerifyCase> cases;
    for (const std::string& name : measurement.mechanisms) {
      for (VerifyCase& one : MakeVerifyCases(
               FindMechanism<double>(name)->Describe(), options_.quick)) {
        cases.push_back(std::move(one));
      }
    }
    CountProgress progress("verify", "cases", /*tells_time=*/true, stderr,
                           isatty(STDERR_FILENO) == 1);
    std::vector<CaseReport> reports = RunVerifyCases(
        cases, options,
        [&](std::size_t finished) { progress.Tell(finished, cases.size()); });
    JudgeAll(options.level, reports);
    return ToJson(MakeVerifyResult(reports, {.context = OwnContext(),
                                             .false_alarm_rate = options.level,
                                             .trials = options.trials,
                                             .not_verified = {}}));
  }

  Json Stability() const {
    CountProgress progress("stability", "points", /*tells_time=*/false, stderr,
                           isatty(STDERR_FILENO) == 1);
    StabilityResult result = MeasureStability(
        {.quick = options_.quick,
         .seed = kSeed,
         .on_progress = [&](std::size_t done, std::size_t total) {
           progress.Tell(done, total);
         }});
    result.context = OwnContext();
    return ToJson(result);
  }

  Json Computed(const std::string& name) const {
    return ToJson(ComputedDocument(ledger_, name, OwnContext()));
  }

  MeasuredDocument FindTrained(const Measurement& measurement) const {
    const std::string path =
        InRoot("results/training/" + measurement.experiment + ".json");
    if (!IsThere(path)) return {.none = "no training result"};
    return {.path = path, .file = path};
  }

  MeasuredDocument FindStored(const std::string& name,
                              const std::string& path) const {
    if (!IsThere(path)) return {.none = path + " is not there"};
    const Measurement& measurement = ledger_.measurements.at(name);
    if (measurement.kind == "sweep") RequireCellsOf(name, measurement, path);
    return Found(path);
  }

  // A sweep's document does not name its experiment: its cells have to be those
  // of the measurement in one of the profiles, all of them.
  void RequireCellsOf(const std::string& name, const Measurement& measurement,
                      const std::string& path) const {
    const auto keys_of = [&](bool quick) {
      std::set<std::string> keys;
      for (const Point& point :
           ExpandSweep(RequestOf(name, measurement, quick)).points) {
        for (const Cell& cell : point.cells) keys.insert(cell.Key());
      }
      return keys;
    };
    const std::set<std::string> full = keys_of(false), quick = keys_of(true);
    const SweepResult result = ReadResult(path).result;
    std::set<std::string> there;
    for (std::size_t i = 0; i < result.cells.size(); ++i) {
      const std::string key = result.cells[i].Key();
      there.insert(key);
      if (full.contains(key) || quick.contains(key)) continue;
      throw UserError(
          fmt::format("{}: cells[{}]", path, i),
          fmt::format("is no cell of measurement {}, experiment {}: is the "
                      "file another measurement's?",
                      name, measurement.experiment));
    }
    if (there == full || there == quick) return;
    throw UserError(
        path, fmt::format("has {} cells; measurement {}, experiment {}, has "
                          "{}, with --quick {}: --resume measures the others",
                          there.size(), name, measurement.experiment,
                          full.size(), quick.size()));
  }

  const ClaimsLedger& ledger_;
  const ClaimsOptions& options_;
  std::vector<MachineLimits> limits_;  // of the machine, those measured so far
};

// Results of training are no part of the folder.
void RequireAny(const ClaimsLedger& ledger, const MeasuredDocuments& documents,
                const std::string& folder) {
  bool has_other = false;
  for (const auto& [name, document] : documents) {
    if (ledger.measurements.at(name).kind == "trained") continue;
    if (document.path) return;
    has_other = true;
  }
  if (!has_other) return;
  throw UserError(folder, "has no measurement that these claims read");
}

}  // namespace

bool MeasuresAuthors(const ClaimsLedger& ledger) {
  const std::vector<std::string> names = MeasurementsOf(ledger);
  return std::ranges::any_of(names, [&](const std::string& name) {
    return ledger.measurements.at(name).kind == "authors";
  });
}

int RunAuthors(const std::vector<std::string>& eigens,
               std::vector<std::string> arguments) {
  for (const std::string& folder : eigens) {
    arguments.push_back("--eigen=" + folder);
  }
  return RunPython("claims", kAuthors, arguments);
}

ComputedResult ComputedDocument(const ClaimsLedger& ledger,
                                const std::string& measurement,
                                const Context& context) {
  ComputedResult result{.context = context};
  for (const LedgerQuantity& one : ledger.QuantitiesOf(measurement)) {
    const auto is_of_it = [&](const ComputedRow& row) {
      return row.name == one.name && row.inputs == one.inputs;
    };
    if (std::ranges::any_of(result.quantities, is_of_it)) continue;
    for (ComputedRow& row : one.compute(kSeed)) {
      row.name = one.name;
      row.inputs = OrderedMap<Json>(one.inputs);
      result.quantities.push_back(std::move(row));
    }
  }
  return result;
}

std::optional<MeasuredDocuments> MeasureClaims(const ClaimsLedger& ledger,
                                               const ClaimsOptions& options) {
  ClaimsMeasurer measurer(ledger, options);
  const std::vector<std::string> names = MeasurementsOf(ledger);
  CatchInterrupts();
  MeasuredDocuments documents;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!options.judge) {
      fmt::print(stderr, "attnbench: claims: measurement {} of {}, {}\n", i + 1,
                 names.size(), names[i]);
    }
    documents[names[i]] = measurer.Measure(names[i]);
    if (WasInterrupted()) return {};
  }
  if (options.judge) RequireAny(ledger, documents, options.folder);
  return documents;
}

}  // namespace attnbench
