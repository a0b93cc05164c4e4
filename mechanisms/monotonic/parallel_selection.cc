#include "mechanisms/monotonic/parallel_selection.h"

namespace attnbench {

const std::vector<ParallelConstants>& ParallelPresets() {
  using Term = ParallelConstants::Term;
  using Denominator = ParallelConstants::Denominator;
  // The columns are name, term, its eps, denominator, its eps, inclusive, alpha
  // clipped.
  static const std::vector<ParallelConstants> presets = {
      {"mad2017", Term::kLogClip, 1e-10, Denominator::kClip, 1e-10},
      {"tf", Term::kLogClip, 0, Denominator::kClip, 1e-10},
      {"nsp", Term::kClip, 1e-6, Denominator::kClip, 1e-6},
      {"nsp_no_denominator", Term::kClip, 1e-6, Denominator::kOne},
      {"fsq", Term::kLogAdd, 1e-6, Denominator::kClip, 1e-6, false, true},
      {"fsq_op", Term::kRaw, 0, Denominator::kClip, 1e-6, false, true},
      {"jmin", Term::kLogClip, 1e-10, Denominator::kRaw, 0, true},
      {"denominator_one", Term::kRaw, 0, Denominator::kOne}};
  return presets;
}

ParallelConstants ParallelConstantsOf(const Config& config) {
  const auto preset = config.Option<std::string>("preset");
  for (const ParallelConstants& constants : ParallelPresets()) {
    if (constants.name == preset) return constants;
  }
  ATTN_CHECK(preset == "none");
  return {.name = preset,
          .term_eps = config.Option<double>("term_eps"),
          .denominator_eps = config.Option<double>("denominator_eps")};
}

std::vector<OptionSpec> ParallelOptions() {
  const std::string variant = kParallel;
  std::vector<std::string> names = {"none"};
  for (const ParallelConstants& constants : ParallelPresets()) {
    names.push_back(constants.name);
  }
  return {{.name = "preset",
           .default_value = std::string("none"),
           .allowed = names,
           .variant = variant,
           .help = "variant parallel: whose constants; none: term_eps and "
                   "denominator_eps, by default those of MAD appendix G"},
          {.name = "term_eps",
           .default_value = 1e-10,
           .least = 0,
           .greatest = 1,
           .variant = variant,
           .help = "variant parallel: 1 - p is clipped to [term_eps, 1]; 0: "
                   "to [smallest normal number, 1]"},
          {.name = "denominator_eps",
           .default_value = 1e-10,
           .least = 0,
           .greatest = 1,
           .variant = variant,
           .help = "variant parallel: the denominator is clipped to "
                   "[denominator_eps, 1]"}};
}

}  // namespace attnbench
