#include "harness/verify/kernel_errors.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "harness/verify/kernel_subjects.h"

namespace attnbench {
namespace {

// At effort 1 each family has so many inputs of a length.
constexpr double kInputsOfLength = 4;

template <class Real>
Real Clamped(double value, const NumberRange& range) {
  return std::clamp(static_cast<Real>(value), static_cast<Real>(range.least),
                    static_cast<Real>(range.greatest));
}

// The ends of the range and of the precision, numbers of any size between, and
// ordinary ones.
template <class Real>
Real Extreme(KernelRandom& random, const NumberRange& range) {
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

// Measures one kernel.
template <class Real>
class KernelMeasurer {
 public:
  KernelMeasurer(const KernelSubject<Real>& subject,
                 const Kernels<Real>& kernels, const std::string& level,
                 const KernelErrorOptions& options)
      : subject_(subject),
        kernels_(kernels),
        level_(level),
        options_(options),
        random_(options.seed),
        starts_(subject.results.size()) {}

  std::vector<KernelError> Run() {
    std::vector<KernelError> rows;
    for (const KernelFamily family :
         {KernelFamily::kRandom, KernelFamily::kCancelling,
          KernelFamily::kSaturated}) {
      Append(family, DrawAll(family), rows);
    }
    Append(KernelFamily::kAdversarial, Search(), rows);
    return rows;
  }

 private:
  struct Found {
    std::vector<WorstError> errors;
    std::int64_t inputs = 0;
  };
  struct Start {
    KernelInput<Real> input;
    double ratio = -1;
  };

  Found Nothing() const {
    return {.errors = std::vector<WorstError>(subject_.results.size())};
  }

  Found DrawAll(KernelFamily family) {
    Found found = Nothing();
    const int each =
        std::max(1, static_cast<int>(kInputsOfLength * options_.effort));
    for (const Index size : subject_.sizes) {
      for (int n = 0; n < each; ++n) {
        const KernelInput<Real> input = Draw(family, size);
        const std::vector<WorstError> errors = Measure(input, found);
        for (std::size_t r = 0; r < errors.size(); ++r) {
          if (size != subject_.search_size ||
              errors[r].ratio <= starts_[r].ratio) {
            continue;
          }
          starts_[r] = {input, errors[r].ratio};
        }
      }
    }
    return found;
  }

  // Climbs from the worst input so far, for one result after another.
  Found Search() {
    Found found = Nothing();
    const auto each = static_cast<int>(subject_.searched * options_.effort) /
                      static_cast<int>(starts_.size());
    for (std::size_t r = 0; r < starts_.size(); ++r) {
      Start best = starts_[r];
      for (int n = 0; n < std::max(1, each); ++n) {
        KernelInput<Real> changed = best.input;
        Change(changed);
        const double ratio = Measure(changed, found)[r].ratio;
        if (ratio >= best.ratio) best = {std::move(changed), ratio};
      }
    }
    return found;
  }

  std::vector<WorstError> Measure(const KernelInput<Real>& input,
                                  Found& found) const {
    std::vector<WorstError> errors = Nothing().errors;
    subject_.measure(kernels_, input, errors);
    for (std::size_t r = 0; r < errors.size(); ++r) {
      found.errors[r].Add(errors[r]);
    }
    ++found.inputs;
    return errors;
  }

  KernelInput<Real> Draw(KernelFamily family, Index size) {
    const bool is_saturated = family == KernelFamily::kSaturated;
    const std::vector<NumberRange> ranges = subject_.ranges(size);
    KernelInput<Real> input;
    for (const NumberRange& range : ranges) {
      std::vector<Real>& array = input.emplace_back(Size(range.size));
      // A saturated array in five has equal numbers.
      const bool equal = random_.Uniform() < 0.2;
      for (Real& value : array) {
        value = is_saturated
                    ? Extreme<Real>(random_, range)
                    : static_cast<Real>(random_.Uniform(range.low, range.high));
      }
      if (is_saturated && equal) std::ranges::fill(array, array[0]);
    }
    if (family == KernelFamily::kCancelling) subject_.cancel(random_, input);
    Repair(ranges, input);
    return input;
  }

  // Changes one to four numbers of one array.
  void Change(KernelInput<Real>& input) {
    const auto ranges = subject_.ranges(std::ssize(input[0]));
    std::size_t which = random_.Below(input.size());
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
    Repair(ranges, input);
  }

  void Repair(const std::vector<NumberRange>& ranges,
              KernelInput<Real>& input) const {
    for (std::size_t a = 0; a < input.size(); ++a) {
      for (Real& value : input[a]) {
        value = Clamped<Real>(static_cast<double>(value), ranges[a]);
      }
      if (ranges[a].rises) std::ranges::sort(input[a]);
    }
    if (subject_.repair) subject_.repair(input);
  }

  void Append(KernelFamily family, const Found& found,
              std::vector<KernelError>& rows) const {
    for (std::size_t r = 0; r < found.errors.size(); ++r) {
      const WorstError& worst = found.errors[r];
      KernelError row = {
          .kernel = subject_.kernel,
          .what = subject_.results[r].what,
          .precision = kPrecisionOf<Real>,
          .level = level_,
          .family = kKernelFamilies[static_cast<std::size_t>(family)],
          .unit = subject_.results[r].unit,
          .bound = worst.bound,
          .inputs = found.inputs,
          .verdict = worst.ratio <= 1 ? "passed" : "failed"};
      if (std::isfinite(worst.error)) row.error = worst.error;
      rows.push_back(std::move(row));
    }
  }

  const KernelSubject<Real>& subject_;
  const Kernels<Real>& kernels_;
  const std::string& level_;
  const KernelErrorOptions& options_;
  KernelRandom random_;
  std::vector<Start> starts_;  // of each result
};

// What one thread does: a kernel at a precision and level.
using Task = std::function<std::vector<KernelError>()>;

template <class Real>
void AddTasks(const Kernels<Real>& kernels, const std::string& level,
              const std::vector<KernelSubject<Real>>& subjects,
              const KernelErrorOptions& options, std::vector<Task>& tasks) {
  for (const KernelSubject<Real>& subject : subjects) {
    tasks.push_back([&] {
      return KernelMeasurer<Real>(subject, kernels, level, options).Run();
    });
  }
}

std::vector<KernelError> RunTasks(
    const std::vector<Task>& tasks, int threads,
    const std::function<void(std::size_t, std::size_t)>& on_finished) {
  std::vector<std::vector<KernelError>> made(tasks.size());
  std::size_t finished = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (std::size_t n = 0; n < tasks.size(); ++n) {
    made[n] = tasks[n]();
#pragma omp critical(kernel_errors)
    on_finished(++finished, tasks.size());
  }
  std::vector<KernelError> rows;
  for (auto& some : made) {
    std::ranges::move(some, std::back_inserter(rows));
  }
  return rows;
}

}  // namespace

template <class Real>
std::vector<KernelError> MeasureTable(const Kernels<Real>& kernels,
                                      const std::string& level,
                                      const KernelErrorOptions& options) {
  const auto subjects = KernelSubjects<Real>();
  std::vector<Task> tasks;
  AddTasks(kernels, level, subjects, options, tasks);
  return RunTasks(tasks, options.threads, [](std::size_t, std::size_t) {});
}

std::vector<KernelError> MeasureKernelErrors(
    const KernelErrorOptions& options,
    const std::function<void(std::size_t finished, std::size_t all)>&
        on_finished) {
  const auto single = KernelSubjects<float>();
  const auto twice = KernelSubjects<double>();
  std::vector<Task> tasks;
  for (const std::string& level : options.levels) {
    AddTasks(KernelsAt<float>(level), level, single, options, tasks);
    AddTasks(KernelsAt<double>(level), level, twice, options, tasks);
  }
  return RunTasks(tasks, options.threads, on_finished);
}

template std::vector<KernelError> MeasureTable(const Kernels<float>&,
                                               const std::string&,
                                               const KernelErrorOptions&);
template std::vector<KernelError> MeasureTable(const Kernels<double>&,
                                               const std::string&,
                                               const KernelErrorOptions&);

}  // namespace attnbench
