#include "harness/validity.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "harness/calibration.h"

namespace attnbench {
namespace {

using Texts = std::vector<std::string>;

const Json& FieldOrNull(const Json& context, const char* name) {
  static const Json null;
  return context.contains(name) ? context.at(name) : null;
}

// What is noticeable is a warning, what is intolerable a reason.
void TellDegree(double value, double noticeable, double intolerable,
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

void JudgeLoad(const Json& load, int cores, double intolerable_load,
               const char* when, Texts& reasons, Texts& warnings) {
  if (!load.is_number()) return;
  const double of_others = load.get<double>();
  TellDegree(of_others / cores, kNoticeableLoad, intolerable_load,
             fmt::format("the load of other programs was {:.1f} on {} core{} "
                         "{}; stop them and measure again",
                         of_others, cores, cores == 1 ? "" : "s", when),
             reasons, warnings);
}

void JudgeClock(const Json& context, Texts& warnings) {
  const Json& governor = FieldOrNull(context, "governor");
  if (governor.is_string() && governor != "performance") {
    warnings.push_back(
        fmt::format("the frequency governor is '{}', so the clock rate varies; "
                    "set it with: cpupower frequency-set -g performance",
                    governor.get<std::string>()));
  }
  if (FieldOrNull(context, "turbo") == true) {
    warnings.emplace_back(
        "turbo is on, so the clock rate depends on the temperature and on what "
        "other cores do; write 1 to "
        "/sys/devices/system/cpu/intel_pstate/no_turbo, or 0 to "
        "/sys/devices/system/cpu/cpufreq/boost");
  }
}

}  // namespace

void JudgeDrift(const Json& calibration, Texts& reasons, Texts& warnings) {
  constexpr char kRemedy[] =
      "fix the frequency (cpupower frequency-set -g performance, turbo off), "
      "let the machine cool, or compare only ratios within a point";
  const Drift drift = DriftOf(calibration);
  TellDegree(drift.between_points, kNoticeableDrift, kIntolerableDrift,
             fmt::format("the processor's clock drifted by {:.1f} % between "
                         "points; {}",
                         100 * drift.between_points, kRemedy),
             reasons, warnings);
  TellDegree(drift.within_point, kNoticeableDrift, kIntolerableDrift,
             fmt::format("the processor's clock drifted by {:.1f} % between "
                         "the rounds of point {}; {}",
                         100 * drift.within_point,
                         AxisValueText(drift.worst_point), kRemedy),
             reasons, warnings);
}

void Judge(const Circumstances& circumstances, Json& context) {
  Texts reasons, warnings;
  JudgeBuild(circumstances, reasons, warnings);
  const int cores = std::max(1, circumstances.machine_cores);
  // What was before the times is no reason against them.
  JudgeLoad(FieldOrNull(context, "load"), cores,
            std::numeric_limits<double>::infinity(), "at the start", reasons,
            warnings);
  JudgeLoad(FieldOrNull(context, "load_end"), cores, kIntolerableLoad,
            "while it measured", reasons, warnings);
  JudgeDrift(FieldOrNull(context, "calibration"), reasons, warnings);
  JudgeClock(context, warnings);
  if (FieldOrNull(context, "dirty") == true) {
    warnings.emplace_back(
        "the source had uncommitted changes, so nobody can build this program "
        "again; commit them, build and measure again");
  }
  context["valid"] = reasons.empty();
  context["invalid_reasons"] = reasons;
  context["warnings"] = warnings;
}

std::string ValidityText(const Json& context) {
  const Json& reasons = FieldOrNull(context, "invalid_reasons");
  if (!context.at("valid").get<bool>()) {
    return fmt::format(
        "INVALID: {}{}",
        reasons.empty() ? "no reason is given" : AxisValueText(reasons[0]),
        reasons.size() < 2 ? ""
                           : fmt::format(" (and {} more)", reasons.size() - 1));
  }
  const std::size_t warnings = context.at("warnings").size();
  if (warnings == 0) return "valid";
  return fmt::format("valid, {} warning{}", warnings, warnings == 1 ? "" : "s");
}

}  // namespace attnbench
