#include "harness/claims_measure.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "harness/campaign.h"
#include "harness/child_process.h"
#include "harness/claims_computed.h"
#include "harness/environment.h"
#include "harness/error.h"
#include "harness/exit_code.h"
#include "harness/interrupt.h"
#include "harness/json_file.h"
#include "harness/progress.h"
#include "harness/result_file.h"
#include "harness/result_reader.h"
#include "harness/result_schema.h"
#include "harness/schema_check.h"
#include "harness/stability.h"
#include "harness/verify.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

constexpr std::uint64_t kSeed = 1;

class ClaimsMeasurer {
 public:
  ClaimsMeasurer(const AxisTable& table, const ClaimsLedger& ledger,
                 const ClaimsOptions& options)
      : table_(table), ledger_(ledger), options_(options) {}

  // Where the user has interrupted there may be no document.
  ClaimDocument Measure(const std::string& name) {
    const Json& measurement = ledger_.measurements.at(name);
    const std::string kind = measurement.at("kind");
    ClaimDocument document{.measurement = name, .file = nullptr, .json = {}};
    if (kind == "training") {
      ReadTraining(measurement, document);
      return document;
    }
    const std::string path = PathOf(name);
    if (options_.judge) {
      ReadStored(kind, path, document);
    } else if (kind == "sweep") {
      document.json = Sweep(name, measurement, path);
    } else if (kind == "decoder") {
      Decode(measurement, path, document);
    } else {
      const ResultFile file(path, options_.force || options_.resume);
      document.json = kind == "verify"      ? Verify(measurement)
                      : kind == "stability" ? Stability()
                                            : Computed(name);
      file.Write(document.json);
    }
    if (options_.is_kept && !document.json.is_null()) document.file = path;
    return document;
  }

 private:
  std::string PathOf(const std::string& name) const {
    return (std::filesystem::path(options_.folder) / (name + ".json")).string();
  }
  std::string ExperimentOf(const Json& measurement) const {
    return fmt::format("experiments/{}.json",
                       measurement.at("experiment").get<std::string>());
  }
  // Seen from here: it goes into results, which others read elsewhere.
  std::string InRoot(const std::string& path) const {
    return std::filesystem::proximate(std::filesystem::path(options_.root) /
                                      path)
        .string();
  }
  Json Context() const { return MakeContext(options_.command_line, kSeed); }

  SweepRequest RequestOf(const std::string& name,
                         const Json& measurement) const {
    const std::string path = InRoot(ExperimentOf(measurement));
    const std::string profile = options_.quick ? "quick" : "full";
    if (!measurement.contains(profile)) {
      return ReadExperiment(table_, path, profile);
    }
    return WithProfile(table_, ReadExperiment(table_, path, "full"),
                       measurement.at(profile),
                       "measurement " + name + ": " + profile);
  }

  Json Sweep(const std::string& name, const Json& measurement,
             const std::string& path) {
    attnbench::Sweep sweep = ExpandSweep(table_, RequestOf(name, measurement));
    SkipThreadsBeyond(Cores(), sweep);
    Json context = MakeContext(options_.command_line, sweep.seed);
    context["limits"] = limits_;  // known, so they are not measured again
    CampaignOptions campaign;
    campaign.output = path;
    campaign.force = options_.force;
    campaign.resume = options_.resume;
    CampaignEnd end = RunCampaign(table_, sweep, std::move(context), campaign);
    if (end.interrupted) return nullptr;
    limits_ = end.document.at("context").at("limits");
    return std::move(end.document);
  }

  Json Verify(const Json& measurement) const {
    const std::int64_t trials = options_.quick
                                    ? measurement.at("quick").at("trials")
                                    : measurement.at("trials");
    const VerifyOptions options{
        .trials = trials, .seed = kSeed, .threads = Cores()};
    std::vector<VerifyCase> cases;
    for (const std::string name : measurement.at("mechanisms")) {
      const auto* const mechanism = FindMechanism<double>(name);
      if (mechanism == nullptr) {
        throw UserError("measurement verify",
                        UnknownName("mechanism", name, MechanismNames()));
      }
      for (VerifyCase& one :
           MakeVerifyCases(mechanism->Describe(), options_.quick)) {
        cases.push_back(std::move(one));
      }
    }
    CountProgress progress("verify", "cases", /*tells_time=*/true, stderr,
                           isatty(STDERR_FILENO) == 1);
    std::vector<CaseReport> reports = RunVerifyCases(
        cases, options,
        [&](std::size_t finished) { progress.Tell(finished, cases.size()); });
    JudgeAll(options.level, reports);
    return VerifyDocument(reports, {.context = Context(),
                                    .false_alarm_rate = options.level,
                                    .trials = options.trials,
                                    .not_verified = Json::array()});
  }

  Json Stability() const {
    CountProgress progress("stability", "points", /*tells_time=*/false, stderr,
                           isatty(STDERR_FILENO) == 1);
    return StabilityDocument(
        {.quick = options_.quick,
         .seed = kSeed,
         .on_progress = [&](std::size_t done,
                            std::size_t total) { progress.Tell(done, total); }},
        Context());
  }

  Json Computed(const std::string& name) const {
    return ComputedDocument(ledger_, name, Context());
  }

  void ReadTraining(const Json& measurement, ClaimDocument& document) const {
    const std::string path =
        InRoot(fmt::format("results/training/{}.json",
                           measurement.at("experiment").get<std::string>()));
    if (!std::filesystem::exists(path)) {
      document.none = "no training result";
      return;
    }
    document.json = ReadOfKind("training", path);
    document.file = path;
    if (!document.json.contains("quantities")) {
      throw UserError(path, "has no quantities");
    }
  }

  void ReadStored(const std::string& kind, const std::string& path,
                  ClaimDocument& document) const {
    if (!std::filesystem::exists(path)) {
      document.none = path + " is not there";
      return;
    }
    document.json = ReadOfKind(kind, path);
    if (kind == "sweep") return CheckResult(table_, {path, document.json});
    const std::string schema = "results/schema/" + kind + ".schema.json";
    CheckSchema(ReadJsonFile(InRoot(schema)), schema, document.json, path);
    if (kind != "decoder") return;
    const Json& cells = document.json.at("cells");
    for (std::size_t i = 0; i < cells.size(); ++i) {
      for (const char* list : {"samples_ns", "attention_samples_ns"}) {
        CheckSamples(cells[i], list, fmt::format("{}: cells[{}]", path, i));
      }
    }
  }

  static Json ReadOfKind(const std::string& kind, const std::string& path) {
    Json json = ReadJsonFile(path);
    if (!json.is_object() || json.value("kind", Json()) != kind) {
      throw UserError(path, "is no result of kind " + kind);
    }
    return json;
  }

  // Whole decoders are another command's, which this one runs.
  void Decode(const Json& measurement, const std::string& path,
              ClaimDocument& document) const {
    const std::string experiment = ExperimentOf(measurement);
    if (!std::filesystem::exists(InRoot(experiment))) {
      document.none = experiment + " is not there";
      return;
    }
    // In results as others see it; run is this program, replaced or not.
    const std::string name =
        std::filesystem::proximate(
            std::filesystem::read_symlink("/proc/self/exe"))
            .string();
    std::vector<std::string> arguments = {name, "decoder", InRoot(experiment),
                                          "-o", path};
    if (options_.quick) {
      arguments.emplace_back("--quick");
    } else {
      const Json full = measurement.value("full", Json::object());
      for (const auto& [option, value] : full.items()) {
        arguments.push_back("--" + option);
        arguments.push_back(value.dump());
      }
    }
    if (options_.force || options_.resume) arguments.emplace_back("--force");
    ChildProcess process({.arguments = arguments,
                          .program = "/proc/self/exe",
                          .environment = EnvironmentWith({}),
                          .echo_errors = true});
    while (!process.HasEnded() && !WasInterrupted()) {
      process.ReadLine(ChildProcess::Clock::now() +
                       std::chrono::milliseconds(100));
    }
    if (WasInterrupted()) process.Kill();
    const ProcessEnd end = process.Stop();
    // A cell that failed is in the result.
    const bool is_written =
        WIFEXITED(end.status) && (WEXITSTATUS(end.status) == kGood ||
                                  WEXITSTATUS(end.status) == kFailed);
    if (is_written) {
      document.json = ReadJsonFile(path);
    } else {
      document.none = fmt::format("attnbench decoder {}: {}", end.Text(),
                                  process.LastWords());
    }
  }

  const AxisTable& table_;
  const ClaimsLedger& ledger_;
  const ClaimsOptions& options_;
  Json limits_ = Json::array();  // of the machine, those measured so far
};

}  // namespace

Json ComputedDocument(const ClaimsLedger& ledger,
                      const std::string& measurement, const Json& context) {
  Json quantities = Json::array();
  std::vector<Json> done;
  for (const Claim& claim : ledger.claims) {
    for (const ClaimPart& part : claim.parts) {
      if (part.quantity.at("from") != measurement) continue;
      const std::string name = part.quantity.at("name");
      const Json& inputs = part.quantity.at("inputs");
      const Json identity = {{"name", name}, {"inputs", inputs}};
      if (std::ranges::find(done, identity) != done.end()) continue;
      done.push_back(identity);
      for (const Json& row : ComputeQuantity(name, inputs, kSeed)) {
        quantities.push_back(identity);
        quantities.back().update(row);
      }
    }
  }
  return {{"schema_version", kSchemaVersion},
          {"kind", "computed"},
          {"context", context},
          {"quantities", std::move(quantities)}};
}

std::optional<std::map<std::string, ClaimDocument>> MeasureClaims(
    const AxisTable& table, const ClaimsLedger& ledger,
    const ClaimsOptions& options) {
  ClaimsMeasurer measurer(table, ledger, options);
  const std::vector<std::string> names = MeasurementsOf(ledger);
  CatchInterrupts();
  std::map<std::string, ClaimDocument> documents;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!options.judge) {
      fmt::print(stderr, "attnbench: claims: measurement {} of {}, {}\n", i + 1,
                 names.size(), names[i]);
    }
    documents[names[i]] = measurer.Measure(names[i]);
    if (WasInterrupted()) return {};
  }
  return documents;
}

}  // namespace attnbench
