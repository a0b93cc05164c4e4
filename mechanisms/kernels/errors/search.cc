#include "mechanisms/kernels/errors/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

namespace attnbench::kernel_errors {
namespace {

// At effort 1 each family has so many inputs of each length, and the climb
// takes so many steps from the worst of one of these lengths.
constexpr double kInputsOfLength = 4, kSteps = 16'000;
constexpr Index kLengths[] = {1, 7, 48, 500}, kClimbed = 48;

template <class Real>
Real Clamped(double value, const NumberRange& range) {
  return std::clamp(static_cast<Real>(value), static_cast<Real>(range.least),
                    static_cast<Real>(range.greatest));
}

// The ends of the range and of the precision, numbers of any size between, and
// ordinary ones.
template <class Real>
Real Extreme(Random& random, const NumberRange& range) {
  using Limits = std::numeric_limits<Real>;
  const double ends[] = {range.least,
                         range.greatest,
                         0,
                         1,
                         1 - static_cast<double>(Limits::epsilon()) / 2,
                         0.5,
                         static_cast<double>(Limits::min()),
                         static_cast<double>(Limits::denorm_min())};
  const double sign = random.Uniform() < 0.5 ? -1 : 1;
  const double way = random.Uniform();
  if (way < 0.6) {
    const double end = ends[random.Below(std::size(ends))];
    return Clamped<Real>(
        range.least < 0 && end != range.greatest ? sign * end : end, range);
  }
  if (way < 0.8)
    return Clamped<Real>(random.Uniform(range.low, range.high), range);
  const double least = range.least > 0 ? range.least : Limits::min();
  return Clamped<Real>(sign * std::exp2(random.Uniform(
                                  std::log2(least), std::log2(range.greatest))),
                       range);
}

// Searches one kernel.
template <class Real>
class Search {
 public:
  Search(const Subject<Real>& subject, const Kernels<Real>& kernels,
         const std::string& level, const SearchOptions& options)
      : subject_(subject),
        kernels_(kernels),
        level_(level),
        options_(options),
        random_(options.seed),
        starts_(subject.results.size()) {}

  std::vector<KernelError> Run() {
    using Draw = Arrays<Real> (Search::*)(Index);
    constexpr std::pair<const char*, Draw> kDrawn[] = {
        {"random", &Search::Ordinary},
        {"cancelling", &Search::Cancelling},
        {"saturated", &Search::Saturated}};
    std::vector<KernelError> errors;
    for (const auto& [family, draw] : kDrawn) {
      Append(family, WorstOfDrawn(draw), errors);
    }
    Append("adversarial", Climb(), errors);
    return errors;
  }

 private:
  using Errors = std::vector<WorstError>;
  struct Start {
    Arrays<Real> input;
    double ratio = -1;
  };

  // The worst inputs of the length that the search takes become its starts.
  Errors WorstOfDrawn(Arrays<Real> (Search::*draw)(Index)) {
    Errors worst(starts_.size());
    const int each =
        std::max(1, static_cast<int>(kInputsOfLength * options_.effort));
    for (const Index size : kLengths) {
      for (int n = 0; n < each; ++n) {
        Arrays<Real> input = (this->*draw)(size);
        subject_.MakeValid(size, input);
        const Errors errors = Measured(input, worst);
        for (std::size_t r = 0; r < errors.size(); ++r) {
          if (size == kClimbed && errors[r].ratio > starts_[r].ratio) {
            starts_[r] = {input, errors[r].ratio};
          }
        }
      }
    }
    return worst;
  }

  // Climbs from the worst input so far, for one result after another.
  Errors Climb() {
    Errors worst(starts_.size());
    const auto each = static_cast<int>(kSteps * options_.effort) /
                      static_cast<int>(starts_.size());
    for (std::size_t r = 0; r < starts_.size(); ++r) {
      Start best = starts_[r];
      for (int n = 0; n < std::max(1, each); ++n) {
        Arrays<Real> changed = best.input;
        Change(changed);
        const double ratio = Measured(changed, worst)[r].ratio;
        if (ratio >= best.ratio) best = {std::move(changed), ratio};
      }
    }
    return worst;
  }

  Errors Measured(const Arrays<Real>& input, Errors& worst) const {
    Errors errors = subject_.measure(kernels_, input);
    for (std::size_t r = 0; r < errors.size(); ++r) worst[r].Add(errors[r]);
    return errors;
  }

  Arrays<Real> Ordinary(Index size) {
    Arrays<Real> input;
    for (const NumberRange& range : subject_.ranges(size)) {
      for (Real& value : input.emplace_back(Size(range.size))) {
        value = static_cast<Real>(random_.Uniform(range.low, range.high));
      }
    }
    return input;
  }

  Arrays<Real> Cancelling(Index size) {
    Arrays<Real> input = Ordinary(size);
    subject_.cancel(random_, input);
    return input;
  }

  // An array in five has equal numbers.
  Arrays<Real> Saturated(Index size) {
    Arrays<Real> input;
    for (const NumberRange& range : subject_.ranges(size)) {
      std::vector<Real>& array = input.emplace_back(Size(range.size));
      for (Real& value : array) value = Extreme<Real>(random_, range);
      if (random_.Uniform() < 0.2) std::ranges::fill(array, array[0]);
    }
    return input;
  }

  // Changes one to four numbers of one array.
  void Change(Arrays<Real>& input) {
    const Ranges ranges = subject_.ranges(kClimbed);
    const std::size_t which = random_.Below(input.size());
    std::vector<Real>& array = input[which];
    const auto times = 1 + random_.Below(4);
    for (std::size_t n = 0; n < times; ++n) {
      Real& value = array[random_.Below(array.size())];
      switch (random_.Below(4)) {
        case 0: {  // a little, by anything from a half to one rounding
          const double step =
              std::exp2(-random_.Uniform(1, std::numeric_limits<Real>::digits));
          const double sign = random_.Uniform() < 0.5 ? -1 : 1;
          value *= static_cast<Real>(1 + sign * step);
          break;
        }
        case 1:
          value = array[random_.Below(array.size())];
          break;
        case 2:
          value = static_cast<Real>(
              random_.Uniform(ranges[which].low, ranges[which].high));
          break;
        default:
          value = Extreme<Real>(random_, ranges[which]);
      }
    }
    subject_.MakeValid(kClimbed, input);
  }

  void Append(const std::string& family, const Errors& worst,
              std::vector<KernelError>& errors) const {
    for (std::size_t r = 0; r < worst.size(); ++r) {
      errors.push_back({.kernel = subject_.kernel,
                        .precision = sizeof(Real) == 4 ? "f32" : "f64",
                        .level = level_,
                        .family = family,
                        .result = subject_.results[r],
                        .worst = worst[r]});
    }
  }

  const Subject<Real>& subject_;
  const Kernels<Real>& kernels_;
  const std::string& level_;
  const SearchOptions& options_;
  Random random_;
  std::vector<Start> starts_;  // of each result
};

}  // namespace

template <class Real>
std::vector<KernelError> SearchKernelErrors(const Kernels<Real>& kernels,
                                            const std::string& level,
                                            const SearchOptions& options) {
  const std::vector<Subject<Real>> subjects = AllSubjects<Real>();
  std::vector<std::vector<KernelError>> made(subjects.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t n = 0; n < subjects.size(); ++n) {
    made[n] = Search<Real>(subjects[n], kernels, level, options).Run();
  }
  std::vector<KernelError> errors;
  for (auto& some : made) {
    std::ranges::move(some, std::back_inserter(errors));
  }
  return errors;
}

std::string TableOf(const std::vector<KernelError>& errors) {
  std::vector<const KernelError*> worst;
  for (const KernelError& error : errors) {
    const auto same = std::ranges::find_if(worst, [&](const auto* other) {
      return std::tie(other->kernel, other->result.what, other->precision) ==
             std::tie(error.kernel, error.result.what, error.precision);
    });
    if (same == worst.end()) {
      worst.push_back(&error);
    } else if (error.worst.ratio > (**same).worst.ratio) {
      *same = &error;
    }
  }
  std::string text =
      fmt::format("{:<26} {:<29} {:<4} {:>8} {:>8}  {:<7} {:<12} {:<7} {}\n",
                  "kernel", "result", "", "error", "bound", "verdict",
                  "worst family", "level", "unit");
  for (const KernelError* error : worst) {
    text += fmt::format(
        "{:<26} {:<29} {:<4} {:>8.3g} {:>8.3g}  {:<7} {:<12} {:<7} {}\n",
        error->kernel, error->result.what, error->precision, error->worst.error,
        error->worst.bound, error->passed() ? "passed" : "FAILED",
        error->family, error->level, error->result.unit);
  }
  const auto failed = std::ranges::count_if(
      errors, [](const KernelError& error) { return !error.passed(); });
  return text + fmt::format("{} errors of {} results of kernels: {}\n",
                            errors.size(), worst.size(),
                            failed == 0 ? "all within their bounds"
                                        : fmt::format("{} FAILED", failed));
}

template std::vector<KernelError> SearchKernelErrors(const Kernels<float>&,
                                                     const std::string&,
                                                     const SearchOptions&);
template std::vector<KernelError> SearchKernelErrors(const Kernels<double>&,
                                                     const std::string&,
                                                     const SearchOptions&);

}  // namespace attnbench::kernel_errors
