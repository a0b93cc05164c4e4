// An interval in a document: [low, high], both at least 0, the lower end
// first.
#ifndef ATTNBENCH_HARNESS_MACHINE_INTERVAL_FORM_H_
#define ATTNBENCH_HARNESS_MACHINE_INTERVAL_FORM_H_

#include <vector>

#include "harness/base/document.h"
#include "harness/stats/statistics.h"

namespace attnbench {

template <>
struct JsonForm<Interval> {
  static Rule TwoEnds() {
    return {.minimum = 0, .min_items = 2, .max_items = 2};
  }
  static Json Write(const Interval& interval) {
    return Json::array({interval.low, interval.high});
  }
  static Interval Read(const Json& json, const Rule& /*rule*/,
                       const Place& place) {
    const auto ends =
        document::Read<std::vector<double>>(json, TwoEnds(), place);
    if (ends[0] > ends[1]) {
      FailAt(place, "is " + json.dump() + ", the lower end must stand first");
    }
    return {ends[0], ends[1]};
  }
  static Json Schema(const Rule& /*rule*/) {
    return document::Schema<std::vector<double>>(TwoEnds());
  }
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_INTERVAL_FORM_H_
