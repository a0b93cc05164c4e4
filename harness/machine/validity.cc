#include "harness/machine/validity.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "harness/machine/calibration.h"

namespace attnbench {
namespace {

using Texts = std::vector<std::string>;

// A noticeable value is a warning, an intolerable one a reason.
void AddByDegree(double value, double noticeable, double intolerable,
                 const std::string& text, Texts& reasons, Texts& warnings) {
  if (value > intolerable) {
    reasons.push_back(text);
  } else if (value > noticeable) {
    warnings.push_back(text);
  }
}

void JudgeBuild(const Circumstances& circumstances, Texts& reasons,
                Texts& warnings) {
  if (!circumstances.is_optimised) {
    reasons.emplace_back(
        "built without optimisation: times mean nothing; use the preset "
        "release");
  }
  if (circumstances.is_sanitized) {
    reasons.emplace_back(
        "built with a sanitizer: times mean nothing; use the preset release");
  }
  if (circumstances.has_checks) {
    warnings.emplace_back(
        "checks inside timed loops are on; build with -DNDEBUG (preset "
        "release)");
  }
}

void JudgeLoad(std::optional<double> load, int cores, double intolerable_load,
               const char* when, Texts& reasons, Texts& warnings) {
  if (!load) return;
  AddByDegree(*load / cores, kNoticeableLoad, intolerable_load,
              fmt::format("the load of other programs was {:.1f} on {} core{} "
                          "{}; stop them and measure again",
                          *load, cores, cores == 1 ? "" : "s", when),
              reasons, warnings);
}

// The width of the vectors of a processor that OpenBLAS has kernels for, by its
// name (OpenBLAS 0.3.21, driver/others/dynamic.c); 0 for those before AVX2. A
// name that is not here is newer.
std::optional<int> VectorBitsOf(const std::string& core) {
  constexpr const char* kWithout[] = {
      "Katmai", "Coppermine",  "Northwood",    "Prescott",   "Banias",
      "Atom",   "Core2",       "Penryn",       "Dunnington", "Nehalem",
      "Athlon", "Opteron",     "Opteron_SSE3", "Barcelona",  "Nano",
      "Bobcat", "Sandybridge", "Bulldozer",    "Piledriver", "Steamroller"};
  constexpr const char* kAvx2[] = {"Haswell", "Zen", "Excavator"};
  const auto is_core = [&](const char* name) { return core == name; };
  if (std::ranges::any_of(kWithout, is_core)) return 0;
  if (std::ranges::any_of(kAvx2, is_core)) return 256;
  return {};
}

// A slow BLAS slows soft attention most, which flatters all others. OpenBLAS
// takes the oldest core for a processor that is newer than itself: 0.3.21 runs
// Prescott on Emerald Rapids.
void JudgeBlas(const Context& context, int vector_bits, Texts& warnings) {
  if (!context.loaded || !context.loaded->contains("blas")) return;
  const LoadedLibrary& blas = context.loaded->at("blas");
  if (!blas.core) {
    warnings.push_back(fmt::format(
        "matrix products are those of {}, which is not OpenBLAS; take it out "
        "of LD_PRELOAD, LD_LIBRARY_PATH or the system's alternatives",
        blas.file));
    return;
  }
  if (VectorBitsOf(*blas.core).value_or(vector_bits) >= vector_bits) return;
  const bool is_512 = vector_bits == 512;
  warnings.push_back(fmt::format(
      "OpenBLAS runs its kernels for {}, without {}, which this processor has, "
      "so matrix products are slower than they could be; set "
      "OPENBLAS_CORETYPE={}, or install a newer OpenBLAS",
      *blas.core, is_512 ? "AVX-512" : "AVX2",
      is_512 ? "SkylakeX" : "Haswell"));
}

void JudgeClock(const Context& context, Texts& warnings) {
  if (context.governor && *context.governor != "performance") {
    warnings.push_back(
        fmt::format("the frequency governor is '{}', so the clock rate varies; "
                    "set it with: cpupower frequency-set -g performance",
                    *context.governor));
  }
  if (context.turbo == true) {
    warnings.emplace_back(
        "turbo is on, so the clock rate depends on the temperature and on what "
        "other cores do; write 1 to "
        "/sys/devices/system/cpu/intel_pstate/no_turbo, or 0 to "
        "/sys/devices/system/cpu/cpufreq/boost");
  }
}

void JudgeDrift(const std::vector<Calibration>& calibration, Texts& reasons,
                Texts& warnings) {
  constexpr char kRemedy[] =
      "fix the frequency (cpupower frequency-set -g performance, turbo off), "
      "let the machine cool, or compare only ratios within a point";
  const Drift drift = DriftOf(calibration);
  AddByDegree(drift.between_points, kNoticeableDrift, kIntolerableDrift,
              fmt::format("the processor's clock drifted by {:.1f} % between "
                          "points; {}",
                          100 * drift.between_points, kRemedy),
              reasons, warnings);
  AddByDegree(drift.within_point, kNoticeableDrift, kIntolerableDrift,
              fmt::format("the processor's clock drifted by {:.1f} % between "
                          "the rounds of point {}; {}",
                          100 * drift.within_point, drift.worst_point, kRemedy),
              reasons, warnings);
}

// The chain sees the clock alone; the other probes see shared cores, caches and
// memory.
void JudgeProbes(const std::vector<Calibration>& calibration, Texts& warnings) {
  constexpr char kRemedy[] =
      "other work shared a core, a cache or the memory; stop it and measure "
      "again, or compare only ratios within a point";
  for (const auto& [name, drift] : DriftOfProbes(calibration)) {
    if (drift <= kStraying - 1) continue;
    warnings.push_back(
        fmt::format("the probe {} took {:.0f} % longer at one point than at "
                    "another: {}",
                    name, 100 * drift, kRemedy));
  }
  std::int64_t num_rounds = 0, num_still = 0;
  for (const Calibration& entry : calibration) {
    if (!entry.strayed) continue;
    num_rounds += std::ssize(entry.samples_ns);
    num_still += entry.strayed->still;
  }
  if (static_cast<double>(num_still) >
      kNoticeableStrayed * static_cast<double>(num_rounds)) {
    warnings.push_back(
        fmt::format("{} of {} rounds were disturbed, also when they were "
                    "measured again: {}",
                    num_still, num_rounds, kRemedy));
  }
}

std::optional<double> WorstOf(const std::vector<MeasuringRun>& runs,
                              std::optional<double> MeasuringRun::*load) {
  std::optional<double> worst;
  for (const MeasuringRun& run : runs) worst = std::max(worst, run.*load);
  return worst;
}

// The texts of all runs, each once.
Texts TextsOf(const std::vector<MeasuringRun>& runs,
              Texts MeasuringRun::*list) {
  std::map<std::string, std::size_t> number;  // the number of runs that say it
  for (const MeasuringRun& run : runs) {
    const Texts& own = run.*list;
    for (const auto& text : std::set<std::string>(own.begin(), own.end())) {
      ++number[text];
    }
  }
  Texts texts;
  for (const MeasuringRun& run : runs) {
    const std::string name = run.file.value_or("run of " + run.date);
    for (const std::string& own : run.*list) {
      std::string text = number[own] == runs.size() ? own : name + ": " + own;
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) {
        texts.push_back(std::move(text));
      }
    }
  }
  return texts;
}

void Set(Texts reasons, Texts warnings, Context& context) {
  context.valid = reasons.empty();
  context.invalid_reasons = std::move(reasons);
  context.warnings = std::move(warnings);
}

}  // namespace

void SetValidity(const Circumstances& circumstances,
                 const std::vector<Calibration>& calibration,
                 Context& context) {
  Texts reasons, warnings;
  JudgeBuild(circumstances, reasons, warnings);
  const int cores = std::max(1, circumstances.machine_cores);
  // A load before the times does not make them invalid.
  JudgeLoad(context.load, cores, std::numeric_limits<double>::infinity(),
            "at the start", reasons, warnings);
  JudgeLoad(context.load_end, cores, kIntolerableLoad, "while it measured",
            reasons, warnings);
  JudgeDrift(calibration, reasons, warnings);
  JudgeProbes(calibration, warnings);
  JudgeClock(context, warnings);
  JudgeBlas(context, circumstances.vector_bits, warnings);
  if (context.dirty == true) {
    warnings.emplace_back(
        "the source had uncommitted changes, so nobody can build this program "
        "again; commit them, build and measure again");
  }
  Set(std::move(reasons), std::move(warnings), context);
}

void SetValidityOfRuns(const std::string& missing,
                       const std::vector<std::string>& of_cells,
                       SweepContext& context) {
  Texts reasons = TextsOf(context.runs, &MeasuringRun::invalid_reasons);
  Texts warnings = TextsOf(context.runs, &MeasuringRun::warnings);
  JudgeDrift(context.calibration, reasons, warnings);
  JudgeProbes(context.calibration, warnings);
  warnings.insert(warnings.end(), of_cells.begin(), of_cells.end());
  if (!missing.empty()) reasons.push_back(missing);
  context.load = WorstOf(context.runs, &MeasuringRun::load);
  context.load_end = WorstOf(context.runs, &MeasuringRun::load_end);
  Set(std::move(reasons), std::move(warnings), context);
}

std::string ValidityText(const Context& context) {
  const Texts& reasons = context.invalid_reasons;
  if (!context.valid) {
    return fmt::format("INVALID: {}{}", reasons.at(0),
                       reasons.size() < 2
                           ? ""
                           : fmt::format(" (and {} more)", reasons.size() - 1));
  }
  const std::size_t warnings = context.warnings.size();
  if (warnings == 0) return "valid";
  return fmt::format("valid, {} warning{}", warnings, warnings == 1 ? "" : "s");
}

std::string ValidityLines(const Context& context) {
  std::string text = ValidityText(context) + "\n";
  for (const std::string& warning : context.warnings) {
    text += "  warning: " + warning + "\n";
  }
  return text;
}

}  // namespace attnbench
