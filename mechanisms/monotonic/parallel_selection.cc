#include "mechanisms/monotonic/parallel_selection.h"

#include <sstream>

namespace attnbench {
namespace {

std::string RangeText(double eps) {
  std::ostringstream text;
  text << '[';
  if (eps > 0) {
    text << eps;
  } else {
    text << "smallest normal number";
  }
  text << ", 1]";
  return text.str();
}

std::string ClipsText(const ParallelConstants& constants) {
  using Term = ParallelConstants::Term;
  using Denominator = ParallelConstants::Denominator;
  std::ostringstream text;
  switch (constants.term) {
    case Term::kLogClip:
      text << "1 - p: " << RangeText(constants.term_eps) << ", in logs";
      break;
    case Term::kLogAdd:
      text << "1 - p: as it is, + " << constants.term_eps << ", in logs";
      break;
    case Term::kClip:
      text << "1 - p: " << RangeText(constants.term_eps);
      break;
    case Term::kRaw:
      text << "1 - p: as it is";
      break;
  }
  switch (constants.denominator) {
    case Denominator::kClip:
      text << "; C: " << RangeText(constants.denominator_eps);
      break;
    case Denominator::kOne:
      text << "; divides by 1";
      break;
    case Denominator::kRaw:
      text << "; C: as it is";
      break;
  }
  if (constants.inclusive) text << ", with 1 - p of the entry itself";
  if (constants.clip_selection) text << "; alpha: [0, 1]";
  return text.str();
}

}  // namespace

const std::vector<ParallelConstants>& ParallelPresets() {
  using Term = ParallelConstants::Term;
  using Denominator = ParallelConstants::Denominator;
  // The columns are name, toolkit, source, term, its eps, denominator, its eps,
  // inclusive, alpha clipped.
  static const std::vector<ParallelConstants> presets = {
      {"mad2017", "MAD",
       "appendix G, and `example_decoder.py` of its authors; no version known",
       Term::kLogClip, 1e-10, Denominator::kClip, 1e-10},
      {"tf", "TensorFlow",
       "`attention_wrapper.py` of `contrib.seq2seq`, 1.x; also in Addons and "
       "lingvo",
       Term::kLogClip, 0, Denominator::kClip, 1e-10},
      {"nsp", "neural_sp", "`mocha/hma_train.py`; no version known",
       Term::kClip, 1e-6, Denominator::kClip, 1e-6},
      {"nsp_no_denominator", "neural_sp, no_denom",
       "the same file with `no_denom`", Term::kClip, 1e-6, Denominator::kOne},
      {"fsq", "fairseq 0.10", "in Python, `monotonic_multihead_attention.py`",
       Term::kLogAdd, 1e-6, Denominator::kClip, 1e-6, false, true},
      {"fsq_op", "fairseq 0.12", "compiled operator, `alignment_train_cpu.cpp`",
       Term::kRaw, 0, Denominator::kClip, 1e-6, false, true},
      {"jmin", "MoChA-pytorch", "`attention.py`; no version known",
       Term::kLogClip, 1e-10, Denominator::kRaw, 0, true},
      {"denominator_one", "MAD, denominator 1", "appendix G, an aside",
       Term::kRaw, 0, Denominator::kOne}};
  return presets;
}

std::vector<PublishedForm> ParallelForms() {
  std::vector<PublishedForm> forms;
  for (const ParallelConstants& constants : ParallelPresets()) {
    forms.push_back({constants.name, constants.toolkit, constants.source,
                     ClipsText(constants)});
  }
  return forms;
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
           .help = "variant parallel: whose constants (see forms); none: "
                   "term_eps and denominator_eps, by default those of MAD "
                   "appendix G"},
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
