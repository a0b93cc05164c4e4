#include "harness/load_watch.h"

#include <cmath>

namespace attnbench {

void LoadWatch::Add(double seconds, int threads, const Json& load) {
  constexpr double kMinute = 60;
  own_ = threads + (own_ - threads) * std::exp(-seconds / kMinute);
  if (!load.is_number()) return;
  const auto of_others = [](const Json& all, double own) {
    return all.get<double>() - own;
  };
  if (!worst_load_.is_null() &&
      of_others(load, own_) <= of_others(worst_load_, own_of_worst_)) {
    return;
  }
  worst_load_ = load;
  own_of_worst_ = own_;
}

}  // namespace attnbench
