// Makes every path of the sampled processes, for small T and U: positions
// t(1)..t(U) with their probability, and the weights that each choice gives. It
// is written from the papers' algorithms alone. It is the oracle of
// expectations and, because an expectation is linear in every single p(i, j),
// of their gradients.
#ifndef ATTNBENCH_TESTS_SUPPORT_ENUMERATE_H_
#define ATTNBENCH_TESTS_SUPPORT_ENUMERATE_H_

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "mechanisms/mechanism.h"

namespace attnbench::testing {

using LongRows = std::vector<std::vector<long double>>;

struct HardProcess {
  std::string mechanism;  // monotonic, mocha or matcha
  Index chunk_width = 1;
  EndPolicy end = EndPolicy::kAbsorb;
  LongRows p;  // [U, T]; need not be in [0, 1]
  LongRows u;  // [U, T]; monotonic has none
};

struct EnumeratedExpectation {
  LongRows attention;
  LongRows selection;
};

class Enumeration {
 public:
  explicit Enumeration(const HardProcess& process)
      : process_(process),
        U_(process.p.size()),
        T_(process.p.at(0).size()),
        result_{Zeros(), Zeros()} {}

  EnumeratedExpectation Run() {
    GoOn(0, 0, 1);
    return result_;
  }

 private:
  LongRows Zeros() const {
    return LongRows(U_, std::vector<long double>(T_, 0));
  }

  // Output i scans from `start` with that probability. A start of T_ is past
  // the last entry, so nothing can be chosen any more.
  void GoOn(std::size_t i, std::size_t start, long double probability) {
    if (i == U_ || probability == 0) return;
    long double arrives = probability;
    for (std::size_t j = start; j < T_; ++j) {
      const bool is_forced =
          process_.end == EndPolicy::kStayLast && j + 1 == T_;
      const long double p = is_forced ? 1 : process_.p[i][j];
      Choose(i, start, j, arrives * p);
      GoOn(i + 1, j, arrives * p);
      arrives *= 1 - p;
    }
    GoOn(i + 1, process_.end == EndPolicy::kRestart ? start : T_, arrives);
  }

  void Choose(std::size_t i, std::size_t start, std::size_t t,
              long double probability) {
    result_.selection[i][t] += probability;
    std::size_t first = t;
    if (process_.mechanism == "matcha") first = start;
    if (process_.mechanism == "mocha") {
      const auto w = static_cast<std::size_t>(process_.chunk_width);
      first = w > t ? 0 : t + 1 - w;
    }
    if (first == t) {
      result_.attention[i][t] += probability;
      return;
    }
    const std::vector<long double>& u = process_.u[i];
    const auto begin = u.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = u.begin() + static_cast<std::ptrdiff_t>(t) + 1;
    const long double largest = *std::max_element(begin, end);
    long double sum = 0;
    for (auto n = begin; n != end; ++n) sum += std::exp(*n - largest);
    for (std::size_t j = first; j <= t; ++j) {
      result_.attention[i][j] += probability * std::exp(u[j] - largest) / sum;
    }
  }

  const HardProcess process_;
  const std::size_t U_;
  const std::size_t T_;
  EnumeratedExpectation result_;
};

inline EnumeratedExpectation Enumerate(const HardProcess& process) {
  return Enumeration(process).Run();
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_ENUMERATE_H_
