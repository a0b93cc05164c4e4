#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/latency/expected_latency.h"
#include "harness/stability/diagnosis.h"
#include "harness/stability/inputs.h"

namespace attnbench {
namespace {

std::string Shown(const Figure& figure) {
  return figure ? fmt::format("{:.2g}", *figure) : "not finite";
}

std::string NameOf(const DiagnosedMechanism& mechanism,
                   const DiagnosedVariant& one) {
  return FormName(mechanism.mechanism, one.variant, one.preset);
}

// "output 3", with the sequence, or batch and head, where there are several.
std::string PlaceText(const DiagnosedPlace& place, const Diagnosis& diagnosis) {
  if (place.batch && place.head) {
    return fmt::format("output {} of batch {}, head {}", place.output,
                       *place.batch, *place.head);
  }
  return diagnosis.sequences == 1 ? fmt::format("output {}", place.output)
                                  : fmt::format("output {} of sequence {}",
                                                place.output, place.sequence);
}

bool IsSample(const DiagnosedVariant& one, const Diagnosis& diagnosis) {
  return one.sequences < diagnosis.sequences ||
         one.outputs < diagnosis.output_length;
}

std::string BoundText(const Diagnosis& diagnosis) {
  const DiagnosedBound& bound = diagnosis.bound;
  if (!bound.at) {
    return fmt::format(
        "Denominators: even clipped at 1 an output by itself would lose no "
        "more than {:g} of its mass; losses of outputs add up.\n",
        diagnosis.tolerance);
  }
  const std::string place = PlaceText(*bound.at, diagnosis);
  if (!bound.log10) {
    return fmt::format(
        "Denominators: no bound would be enough, as mass starts behind a p of "
        "1 "
        "({}).\n",
        place);
  }
  return fmt::format(
      "Denominators: a form has to clip them at 1e{:.0f} or less for no output "
      "by itself to lose more than {:g} of its mass ({} needs that); losses of "
      "outputs add up{}.\n",
      std::floor(*bound.log10), diagnosis.tolerance, place,
      *bound.log10 < -37.9 ? "; f32 has no such number" : "");
}

// The answer to what people ask first of alpha: its rows do not sum to 1.
std::string MassText(const Diagnosis& diagnosis) {
  constexpr std::size_t kMostShown = 8;
  const DiagnosedMass& mass = diagnosis.mass;
  std::string text = "Mass: an output's attention sums to ";
  if (!mass.at ||
      (diagnosis.sequences == 1 && mass.outputs.size() <= kMostShown)) {
    text += fmt::format("{:.3g}", fmt::join(mass.outputs, ", "));
  } else {
    text +=
        fmt::format("{:.3g} ({}) to {:.3g}, {:.3g} on average", mass.least,
                    PlaceText(*mass.at, diagnosis), mass.greatest, mass.mean);
  }
  text += " in the exact expectation.\n";
  constexpr double kLeastWhole = 0.9995;  // what is printed as 1
  if (mass.least >= kLeastWhole) return text;
  return text +
         "Below 1 is right: the rest is the probability that the sampled "
         "process passes the last entry and\nchooses nothing, for this output "
         "and all that follow, whose contexts are then zeros; normalised, "
         "training\nwould be of another process than decoding (MAD, section "
         "2.3).\n";
}

// Another: what does a p near 0 or 1 everywhere do?
std::string ChoicesText(const DiagnosedChoices& choices) {
  constexpr double kMost = 0.95;
  const std::string text =
      fmt::format("p: {:.0f} % below 0.01, {:.0f} % above 0.99",
                  100 * choices.near_zero, 100 * choices.near_one);
  if (choices.near_zero + choices.near_one < kMost) return text + ".\n";
  return text +
         ": gradients of energies have a factor p (1 - p), which is close to "
         "0 there.\n";
}

std::string GradientText(const DiagnosedVariant& one) {
  if (!one.gradient) return "-";
  if (one.gradient->not_finite > 0) return "not finite";
  return one.gradient->relative_error ? Shown(one.gradient->relative_error)
                                      : Shown(one.gradient->error) + " of 0";
}

constexpr const char* kRow = "  {:<30}{:>12}{:>12}{:>12}{:>8}  {:<28}{:>12}\n";

std::string Row(const std::string& name, const DiagnosedVariant& one,
                const Diagnosis& diagnosis) {
  if (one.outputs == 0) {
    return fmt::format(kRow, name + " *", "-", "-", "-", "-", "takes too long",
                       GradientText(one));
  }
  return fmt::format(
      kRow, name + (IsSample(one, diagnosis) ? " *" : ""),
      Shown(one.attention_error), Shown(one.mass_error),
      Shown(one.mean_mass_error),
      one.moved ? fmt::format("{:.0f} %", 100 * *one.moved) : "-",
      one.first_wrong ? PlaceText(*one.first_wrong, diagnosis) : "none",
      GradientText(one));
}

std::string MechanismText(const DiagnosedMechanism& mechanism,
                          const Diagnosis& diagnosis) {
  const ThresholdDecoding& decoding = mechanism.decoding;
  std::string text = fmt::format(
      "\n{}{}: decoding chooses no entry for {:.0f} % of the outputs and reads "
      "{:.0f} % of the memory{}; training's attention is {:.2g} from what it "
      "chooses (0: the same, 1: nothing in common).\n",
      mechanism.mechanism,
      mechanism.sequences < diagnosis.sequences ||
              mechanism.outputs < diagnosis.output_length
          ? fmt::format(" (takes long: the first {} outputs of sequence 1)",
                        mechanism.outputs)
          : "",
      100 * decoding.zero_contexts, 100 * decoding.memory_read,
      decoding.latency
          ? fmt::format(" (AP {:.2f}, DAL {:.1f} entries)",
                        decoding.latency->ap, decoding.latency->dal)
          : "",
      mechanism.hard_distance);
  text += fmt::format(kRow, "computed by", "error", "mass", "mean", "moved",
                      "first wrong", "gradient");
  if (diagnosis.alpha && mechanism.mechanism == kScan) {
    text += Row("your alpha", diagnosis.alpha->errors, diagnosis);
  }
  for (const DiagnosedVariant& one : mechanism.variants) {
    text += Row(NameOf(mechanism, one), one, diagnosis);
  }
  return text;
}

// Is it right, and what does it look like?
std::string AlphaText(const Diagnosis& diagnosis) {
  const DiagnosedAlpha& alpha = *diagnosis.alpha;
  std::string text =
      alpha.first_wrong
          ? fmt::format(
                "{}: wrong; {} is the first that is off by more than "
                "{:g} of its mass.\n",
                alpha.file, PlaceText(*alpha.first_wrong, diagnosis),
                alpha.tolerance)
          : fmt::format(
                "{}: right; no output is off by more than {:g} of its "
                "mass.\n",
                alpha.file, alpha.tolerance);
  text += fmt::format(
      "The worst, {}, is off by {:.2g} of its mass; up to {:.2g} of an "
      "output's mass is lost.\n",
      PlaceText(alpha.off_at, diagnosis), alpha.off, alpha.lost_mass);
  if (alpha.looks_like.empty()) {
    return text + (alpha.is_exact ? "It is exact, to rounding.\n"
                                  : "It looks like no published form.\n");
  }
  for (const DiagnosedForm& one : alpha.looks_like) {
    const PublishedForm* const form = FindForm(kScan, one.preset);
    text += fmt::format("It looks like {}. Clips: {}\n",
                        form ? form->toolkit : one.preset,
                        form ? form->clips : "unknown");
  }
  return text;
}

// Says what has made a NaN of p, if anything has.
std::string NotFiniteText(const Diagnosis& diagnosis) {
  const bool any = std::ranges::any_of(
      diagnosis.mechanisms, [](const DiagnosedMechanism& mechanism) {
        return std::ranges::any_of(
            mechanism.variants,
            [](const DiagnosedVariant& one) { return one.not_finite > 0; });
      });
  return any ? "not finite: a NaN or an infinity, of finite numbers, for "
               "example where it divides by a product of\n1 - p that is 0 in "
               "its precision; exact divides by none\n"
             : "";
}

// One line for each size of the sample.
std::string SampleText(const Diagnosis& diagnosis) {
  std::vector<std::string> lines;
  for (const DiagnosedMechanism& mechanism : diagnosis.mechanisms) {
    for (const DiagnosedVariant& one : mechanism.variants) {
      if (one.outputs == 0 || !IsSample(one, diagnosis)) continue;
      const std::string line = fmt::format(
          "* {} {} takes long: of the first {} outputs of sequence 1 only\n",
          mechanism.mechanism, NameOf(mechanism, one), one.outputs);
      if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
    }
  }
  return fmt::format("{}", fmt::join(lines, ""));
}

std::string Verdict(const Diagnosis& diagnosis) {
  const DiagnosedMechanism& first = diagnosis.mechanisms.front();
  std::vector<std::string> right, wrong;
  for (const DiagnosedVariant& one : first.variants) {
    if (one.variant == "exact" || one.outputs == 0) continue;
    (one.first_wrong ? wrong : right)
        .push_back(NameOf(first, one) + (IsSample(one, diagnosis) ? " *" : ""));
  }
  // Names have commas.
  return fmt::format(
      "{}: wrong by more than {:g} here: {}. Right: {}.\n", first.mechanism,
      diagnosis.tolerance,
      wrong.empty() ? "none" : fmt::to_string(fmt::join(wrong, "; ")),
      right.empty() ? "none" : fmt::to_string(fmt::join(right, "; ")));
}

}  // namespace

std::string DiagnosisText(const Diagnosis& diagnosis) {
  std::string text = diagnosis.alpha ? AlphaText(diagnosis) : "";
  text += Verdict(diagnosis);
  text += fmt::format(
      "{} of {} outputs and {} entries ({} [{}]), {} against exact in f64\n",
      diagnosis.sequences == 1
          ? "1 sequence"
          : fmt::format("{} sequences", diagnosis.sequences),
      diagnosis.output_length, diagnosis.memory_length, diagnosis.source,
      fmt::join(diagnosis.shape, ", "), NameOf(diagnosis.precision));
  // Results of older programs lack both.
  if (!diagnosis.mass.outputs.empty()) {
    text += MassText(diagnosis) + ChoicesText(diagnosis.choices);
  }
  text += BoundText(diagnosis);
  const Latency& latency = diagnosis.expected_latency;
  text += fmt::format(
      "Expected latency: AP {:.2f}; of the expected delays AL {:.1f}, DAL "
      "{:.1f} entries.\n",
      latency.ap, latency.al, latency.dal);
  for (const DiagnosedMechanism& mechanism : diagnosis.mechanisms) {
    text += MechanismText(mechanism, diagnosis);
  }
  text += SampleText(diagnosis) + NotFiniteText(diagnosis);
  text += fmt::format(
      "error: largest |attention - exact|; mass, mean: largest error of its "
      "sum over the memory, and the mean\nover outputs; moved: outputs of a "
      "mass of {0:g} or more whose largest attention is elsewhere; "
      "first\nwrong: "
      "an error or a mass wrong by more than {0:g}; gradient: largest relative "
      "error at some scores of\nthe first outputs of sequence 1 (--json has "
      "them)\n",
      diagnosis.tolerance);
  if (diagnosis.alpha) {
    text += fmt::format(
        "Your alpha is judged twice: above by a share of each output's own "
        "mass ({:g}), as small outputs need, and\nin the table by the error "
        "that all are judged by ({:g}). Places count from 1, those of "
        "attnbench.torch.check from 0.\n",
        diagnosis.alpha->tolerance, diagnosis.tolerance);
  }
  return text;
}

}  // namespace attnbench
