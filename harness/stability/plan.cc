// Decides which points a run of `attnbench stability` measures, and on which
// threads.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <string>

#include "harness/stability/stability.h"
#include "mechanisms/common/parallel.h"
#include "mechanisms/registry.h"
#include "mechanisms/sample.h"

namespace attnbench {
namespace {

// The settings that a run measures.
class Plan {
 public:
  explicit Plan(bool quick) : quick_(quick) {
    for (const auto* mechanism : Mechanisms<double>()) {
      AddPoints(mechanism->Describe());
    }
  }
  struct Work {
    enum class Kind { kRows, kGradients, kLedger, kLosses } kind;
    StabilityPoint point;
    double cost = 0;  // relative to other work
  };
  const std::vector<Work>& work() const { return work_; }
  int draws(Work::Kind kind) const {
    if (quick_) return 2;
    return kind == Work::Kind::kLosses ? 25 : 4;
  }

 private:
  using Lengths = std::vector<Index>;
  using Kind = Work::Kind;

  void AddPoints(const Description& about) {
    const bool chunks = TakesScore(about, "chunk_energies");
    for (const std::string& family : FamiliesOf(about)) {
      const auto rank = std::ranges::find(StabilityFamilies(), family) -
                        StabilityFamilies().begin();
      const bool over_length =
          rank < static_cast<std::ptrdiff_t>(kMainFamilies) ||
          family == kNormal;
      StabilityPoint point{.mechanism = about.name, .family = family};
      for (const double scale :
           chunks ? std::vector<double>{1, 10} : std::vector<double>{0}) {
        point.chunk_energy_scale = scale;
        if (!StabilitySubjects(about, Mode::kExpect).empty()) {
          AddRows(about, point, over_length);
          const bool ledger =
              scale <= 1 && over_length && ChoosesAtRandom(about);
          if (ledger) AddLedger(point);
          if (family == kRealistic && MakesOnlyAlpha(about)) AddLosses(point);
        }
        if (!StabilitySubjects(about, Mode::kGradient).empty() && scale <= 1) {
          AddGradients(point);
        }
      }
    }
  }

  // A mechanism without scores of a choice has only one family.
  std::vector<std::string> FamiliesOf(const Description& about) const {
    if (!TakesScore(about, "p_choose") && !TakesScore(about, "energies")) {
      return {kNormal};
    }
    return StabilityFamilies();
  }

  void Add(Kind kind, StabilityPoint point, Index T, Index U) {
    point.memory_length = T;
    point.output_length = U;
    const auto size = static_cast<double>(T * U);
    work_.push_back({kind, point,
                     kind == Kind::kGradients
                         ? 100 * size * size
                         : draws(kind) * size * static_cast<double>(T)});
  }

  void AddRows(const Description& about, const StabilityPoint& point,
               bool over_length) {
    const Lengths all =
        quick_ ? Lengths{4, 16, 64, 256}
               : Lengths{4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048};
    // One output shows whether errors come from the chaining of outputs.
    const bool one_output = over_length && MakesOnlyAlpha(about);
    for (const Index T : over_length ? all : Lengths{256}) {
      const Index U = std::clamp<Index>(T / 4, 1, 50);
      if (one_output && U > 1) Add(Kind::kRows, point, T, 1);
      Add(Kind::kRows, point, T, U);
    }
  }

  static bool MakesOnlyAlpha(const Description& about) {
    return TakesScore(about, "p_choose") &&
           !TakesScore(about, "chunk_energies");
  }

  void AddLosses(const StabilityPoint& point) {
    Add(Kind::kLosses, point, 2048, 50);
  }

  void AddLedger(const StabilityPoint& point) {
    Add(Kind::kLedger, point, quick_ ? 64 : 200, quick_ ? 8 : 20);
  }

  // All variants of a mechanism have one length, so that they can be compared.
  void AddGradients(const StabilityPoint& point) {
    Index T = quick_ ? 16 : 64;
    for (const StabilityLimit& limit : StabilityLimits()) {
      if (limit.mechanism == point.mechanism) T = std::min(T, limit.gradient);
    }
    for (const Index U : quick_ ? Lengths{1, 4, 16} : Lengths{1, 4, 16, 64}) {
      Add(Kind::kGradients, point, T, U);
    }
  }

  static constexpr const char* kNormal = "normal";
  static constexpr const char* kRealistic = "recommended";
  const bool quick_;
  std::vector<Work> work_;
};

// Fills the list of the work's kind.
StabilityResult Measure(const Plan& plan, const Plan::Work& work,
                        std::uint64_t seed) {
  const int draws = plan.draws(work.kind);
  switch (work.kind) {
    case Plan::Work::Kind::kRows:
      return {.rows = MeasureStabilityRows(work.point, seed, draws)};
    case Plan::Work::Kind::kLosses:
      return {.losses = MeasureStabilityLosses(work.point, seed, draws)};
    case Plan::Work::Kind::kGradients:
      return {.gradients = MeasureStabilityGradients(work.point, seed)};
    case Plan::Work::Kind::kLedger:
      break;
  }
  return {.ledger = MeasureStabilityLedger(work.point, seed)};
}

// Measures everything; the parts come in the plan's order whatever the threads.
std::vector<StabilityResult> MeasureAll(const Plan& plan,
                                        const StabilityRequest& request) {
  // The costly work comes first, or one thread would end with it alone.
  std::vector<std::size_t> order(plan.work().size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return plan.work()[a].cost > plan.work()[b].cost;
  });
  std::vector<StabilityResult> results(order.size());
  std::atomic<std::size_t> next = 0;
  std::mutex telling;
  std::size_t done = 0;
  // Each thread takes the next piece of work, as costs are only guessed.
  const int threads = omp_get_max_threads();
  ParallelFor(threads, threads, [&](Index /*thread*/) {
    for (std::size_t n = next++; n < order.size(); n = next++) {
      const std::size_t at = order[n];
      results[at] = Measure(plan, plan.work()[at], request.seed);
      const std::lock_guard<std::mutex> lock(telling);
      ++done;
      if (request.on_progress) request.on_progress(done, order.size());
    }
  });
  return results;
}

template <class Row>
void Append(const std::vector<Row>& rows, std::vector<Row>& all) {
  all.insert(all.end(), rows.begin(), rows.end());
}

}  // namespace

StabilityResult MeasureStability(const StabilityRequest& request) {
  const Plan plan(request.quick);
  StabilityResult result;
  for (const StabilityResult& part : MeasureAll(plan, request)) {
    Append(part.rows, result.rows);
    Append(part.ledger, result.ledger);
    Append(part.losses, result.losses);
    Append(part.gradients, result.gradients);
  }
  result.limits = StabilityLimits();
  return result;
}

}  // namespace attnbench
