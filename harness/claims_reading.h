// What a quantity of a claim comes down to: readings, each a number that says
// what it is of and where it stands.
#ifndef ATTNBENCH_HARNESS_CLAIMS_READING_H_
#define ATTNBENCH_HARNESS_CLAIMS_READING_H_

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "harness/axes.h"
#include "harness/statistics.h"

namespace attnbench {

struct Reading {
  Json labels = Json::object();  // axis or other label -> value
  // May be infinite. NaN: there is none.
  double value = std::numeric_limits<double>::quiet_NaN();
  // Of a number that chance moves. The intervals of a part together miss with
  // probability kMiss at most.
  std::optional<Interval> interval = {};
  // Why there is no number, or none to judge by; empty: there is.
  std::string why = {};
  // Where it was read: [{"measurement", "file", "point", "place"}]; `file` is
  // null where the document was not kept, `point` where it has none.
  Json evidence = Json::array();
};

struct Readings {
  std::vector<Reading> list;
  std::string none = {};  // why the list is empty
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_READING_H_
