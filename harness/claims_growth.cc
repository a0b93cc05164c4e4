#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "harness/claims_cells.h"
#include "harness/claims_quantities.h"

namespace attnbench {
namespace {

using Cells = std::vector<ClaimCell>;

// A count of a cell that is ok; none: it is not known.
std::optional<double> FieldNumber(const Json& cell, const std::string& field) {
  const Json& value = field == "peak_memory_bytes"
                          ? cell.at(field)
                          : FieldOf(cell.at("operations"), field);
  if (!value.is_number()) return {};
  return value.get<double>();
}

std::string Unknown(const std::string& field) {
  return field + " is not counted";
}

Json EvidenceOfAll(const Cells& cells) {
  Json evidence = Json::array();
  for (const ClaimCell& cell : cells) evidence.push_back(cell.evidence);
  return evidence;
}

std::string WhyNot(const Cells& cells) {
  for (const ClaimCell& cell : cells) {
    if (!cell.why.empty()) return cell.why;
  }
  return "";
}

std::vector<ProcessSamples> TimesOf(const Cells& cells) {
  std::vector<ProcessSamples> times;
  times.reserve(cells.size());
  for (const ClaimCell& cell : cells) times.push_back(SamplesOf(*cell.cell));
  return times;
}

// ---- count ------------------------------------------------------------------

Reading CountOf(const Json& quantity, const ClaimCell& cell) {
  const std::string field = quantity.at("field");
  const Json evidence = Json::array({cell.evidence});
  if (!cell.why.empty()) return NoReading(cell.labels, cell.why, evidence);
  const auto count = FieldNumber(*cell.cell, field);
  if (!count) return NoReading(cell.labels, Unknown(field), evidence);
  return ReadingOf(cell.labels,
                   *count / FormulaValue(quantity.at("over"), cell.labels),
                   evidence);
}

// ---- exponent ---------------------------------------------------------------

double Slope(std::span<const double> x, std::span<const double> y) {
  double x_mean = 0;
  double y_mean = 0;
  const auto n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x_mean += x[i] / n;
    y_mean += y[i] / n;
  }
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
  }
  return xy / xx;
}

Reading ExponentOf(const Json& quantity, const Json& key, const Cells& all,
                   double miss) {
  const std::string axis = quantity.at("against").at(0);
  const std::string field = quantity.at("field");
  if (const std::string why = WhyNot(all); !why.empty()) {
    return NoReading(key, why, EvidenceOfAll(all));
  }
  Cells cells;
  std::vector<double> x;
  std::vector<double> y;
  for (const ClaimCell& cell : all) {
    if (field != "time") {
      const auto count = FieldNumber(*cell.cell, field);
      if (!count) return NoReading(key, Unknown(field), EvidenceOfAll(all));
      if (*count == 0) continue;  // w = 1 has no chunk energies
      y.push_back(std::log(*count));
    }
    cells.push_back(cell);
    x.push_back(std::log(cell.labels.at(axis).get<double>()));
  }
  const Json evidence = EvidenceOfAll(cells);
  if (std::set<double>(x.begin(), x.end()).size() < 2) {
    return NoReading(key, "there are not two values of " + axis, evidence);
  }
  if (field != "time") return ReadingOf(key, Slope(x, y), evidence);
  std::vector<ProcessSamples> logs = TimesOf(cells);
  if (!HaveEqualShapes(logs)) {
    return NoReading(key, "not all cells have as many rounds", evidence);
  }
  for (ProcessSamples& one : logs) one = Logs(std::move(one));
  return ReadingOf(
      key,
      FigureOf(
          logs, miss, LayoutReach::kOfTime, FigureKind::kLinear,
          [&](std::span<const double> y_logs) { return Slope(x, y_logs); }),
      evidence);
}

// ---- fit --------------------------------------------------------------------

// time = c(0) + sum of c(n + 1) count(n).
using Coefficients = std::vector<double>;

// Solves the normal equations by elimination; none where terms depend on each
// other. Columns are scaled to length 1 first, so that the least pivot tells.
std::optional<Coefficients> LeastSquares(
    const std::vector<std::vector<double>>& columns,
    const std::vector<double>& y) {
  constexpr double kLeastPivot = 1e-9;
  const std::size_t n = columns.size();
  const auto dot = [](const auto& a, const auto& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  std::vector<double> length(n);
  for (std::size_t i = 0; i < n; ++i) {
    length[i] = std::sqrt(dot(columns[i], columns[i]));
    if (!(length[i] > 0)) return {};
  }
  std::vector<std::vector<double>> a(n, std::vector<double>(n + 1));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      a[i][j] = dot(columns[i], columns[j]) / (length[i] * length[j]);
    }
    a[i][n] = dot(columns[i], y) / length[i];
  }
  // Positive definite: the diagonal will do for pivots.
  for (std::size_t k = 0; k < n; ++k) {
    if (!(a[k][k] > kLeastPivot)) return {};
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j <= n; ++j) a[i][j] -= factor * a[k][j];
    }
  }
  Coefficients found(n);
  for (std::size_t i = 0; i < n; ++i)
    found[i] = a[i][n] / (a[i][i] * length[i]);
  return found;
}

class Fit {
 public:
  Fit(const Json& quantity, const Cells& cells)
      : terms_(quantity.at("terms").get<std::vector<std::string>>()),
        give_(quantity.at("give")),
        cells_(cells) {}

  Reading Read(const Json& key, std::size_t num_readings) {
    const Json evidence = EvidenceOfAll(cells_);
    std::string why = WhyNot(cells_);
    for (const ClaimCell& cell : cells_) {
      if (!why.empty()) return NoReading(key, why, evidence);
      std::vector<double>& counts = counts_.emplace_back();
      for (const std::string& term : terms_) {
        const auto count = FieldNumber(*cell.cell, term);
        if (!count) why = Unknown(term);
        counts.push_back(count.value_or(0));
      }
    }
    const std::vector<ProcessSamples> times = TimesOf(cells_);
    if (why.empty() && !HaveEqualShapes(times)) {
      why = "not all cells have as many rounds";
    }
    if (cells_.size() <= terms_.size() + 1) why = "too few cells for the terms";
    if (why.empty() && !Solve(Medians())) {
      why = "the terms depend on each other";
    }
    if (!why.empty()) return NoReading(key, why, evidence);
    const double miss = MissOfOne(num_readings);
    return give_ == "residual" ? Residual(key, miss, evidence)
                               : Coefficient(key, miss, times, evidence);
  }

 private:
  std::vector<double> Medians() const {
    std::vector<double> medians;
    for (const ClaimCell& cell : cells_) {
      medians.push_back(cell.cell->at("median_ns"));
    }
    return medians;
  }

  // By least squares of relative errors: every row over its time.
  std::optional<Coefficients> Solve(std::span<const double> times) const {
    std::vector<std::vector<double>> columns(terms_.size() + 1);
    for (std::size_t i = 0; i < times.size(); ++i) {
      columns[0].push_back(1 / times[i]);
      for (std::size_t n = 0; n < terms_.size(); ++n) {
        columns[n + 1].push_back(counts_[i][n] / times[i]);
      }
    }
    return LeastSquares(columns, std::vector<double>(times.size(), 1));
  }

  Reading Coefficient(const Json& key, double miss,
                      const std::vector<ProcessSamples>& times,
                      const Json& evidence) const {
    const auto at = std::ranges::find(terms_, give_) - terms_.begin() + 1;
    const auto index = static_cast<std::size_t>(at);
    std::vector<ProcessSamples> logs = times;
    for (ProcessSamples& one : logs) one = Logs(std::move(one));
    return ReadingOf(
        key,
        FigureOf(logs, miss, LayoutReach::kOfTime, FigureKind::kNotLinear,
                 [&](std::span<const double> y_logs) {
                   std::vector<double> y;
                   for (const double log : y_logs) {
                     y.push_back(std::exp(log));
                   }
                   return Solve(y).value().at(index);
                 }),
        evidence);
  }

  // The greatest |time - line| / time; of each time's interval the ends that
  // lie nearest to the line and farthest from it.
  Reading Residual(const Json& key, double miss, const Json& evidence) const {
    const std::vector<double> medians = Medians();
    const Coefficients line = *Solve(medians);
    double greatest = 0;
    Interval interval;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      double on_line = line[0];
      for (std::size_t n = 0; n < terms_.size(); ++n) {
        on_line += line[n + 1] * counts_[i][n];
      }
      const auto distance = [on_line](double time) {
        return std::fabs(time - on_line) / time;
      };
      const Interval time =
          Exp(CenterWithLayout(Logs(SamplesOf(*cells_[i].cell)),
                               miss / static_cast<double>(cells_.size()),
                               LayoutReach::kOfTime))
              .interval;
      const double near = distance(std::clamp(on_line, time.low, time.high));
      const double far = std::max(distance(time.low), distance(time.high));
      greatest = std::max(greatest, distance(medians[i]));
      interval = {std::max(interval.low, near), std::max(interval.high, far)};
    }
    return ReadingOf(key, Estimate{greatest, interval}, evidence);
  }

  const std::vector<std::string> terms_;
  const std::string give_;
  const Cells& cells_;
  std::vector<std::vector<double>> counts_;  // [cell][term]
};

// Mechanisms and what counts depend on vary within a fit; the other axes do
// not, where all cells have them.
std::vector<std::string> LabelsOfFits(const Cells& cells) {
  static const std::set<std::string> pooled = {"mechanism", "memory_length",
                                               "output_length", "chunk_width",
                                               "num_contexts"};
  std::vector<std::string> names;
  for (const std::string& name : AxisNames(StandardAxes())) {
    if (pooled.contains(name)) continue;
    const bool all_have = std::ranges::none_of(
        cells,
        [&](const ClaimCell& cell) { return cell.labels.at(name).is_null(); });
    if (all_have) names.push_back(name);
  }
  return names;
}

std::vector<Reading> Fits(const Json& quantity, const Cells& cells) {
  KeyedGroups<ClaimCell> groups;
  const std::vector<std::string> names = LabelsOfFits(cells);
  for (const ClaimCell& cell : cells) {
    Json key = Json::object();
    for (const std::string& name : names) key[name] = cell.labels.at(name);
    GroupOf(groups, key).push_back(cell);
  }
  std::vector<Reading> readings;
  for (const auto& [key, members] : groups) {
    readings.push_back(Fit(quantity, members).Read(key, groups.size()));
  }
  return readings;
}

// ---- time_growth ------------------------------------------------------------

Estimate TimeOfList(const Json& cell, const char* list, double miss) {
  return Exp(CenterWithLayout(Logs(SamplesOf(cell, list)), miss,
                              LayoutReach::kOfTime));
}

// The time without what is done once for a memory, which was timed apart from
// the rounds: the ends of the two intervals crosswise, and the miss shared.
Estimate TimeOf(const ClaimCell& cell, bool without_preparation, double miss) {
  const Json& prepare = cell.cell->at("prepare_ns");
  const bool has_preparation =
      without_preparation && prepare.is_number() && prepare.get<double>() > 0;
  if (!has_preparation) return TimeOfList(*cell.cell, "samples_ns", miss);
  const Estimate whole = TimeOfList(*cell.cell, "samples_ns", miss / 2);
  const Estimate part = TimeOfList(*cell.cell, "prepare_samples_ns", miss / 2);
  return {whole.value - part.value,
          {whole.interval.low - part.interval.high,
           whole.interval.high - part.interval.low}};
}

Reading TimeGrowth(const Json& quantity, const Json& key, const Cells& cells,
                   double miss) {
  const std::string axis = quantity.at("against").at(0);
  const Json evidence = EvidenceOfAll(cells);
  if (const std::string why = WhyNot(cells); !why.empty()) {
    return NoReading(key, why, evidence);
  }
  const auto value = [&](const ClaimCell& cell) {
    return cell.labels.at(axis).get<double>();
  };
  const auto [least, greatest] = std::ranges::minmax_element(cells, {}, value);
  if (value(*least) == value(*greatest)) {
    return NoReading(key, "there are not two values of " + axis, evidence);
  }
  const bool without = quantity.at("without_preparation");
  const Estimate before = TimeOf(*least, without, miss / 2);
  const Estimate after = TimeOf(*greatest, without, miss / 2);
  const Json ends = Json::array({greatest->evidence, least->evidence});
  if (!(before.interval.low > 0) || !(after.interval.low > 0)) {
    return NoReading(key, "the preparation may take all of the time", ends);
  }
  return ReadingOf(key,
                   Estimate{after.value / before.value,
                            {after.interval.low / before.interval.high,
                             after.interval.high / before.interval.low}},
                   ends);
}

// exponent and time_growth, of cells that agree in all labels but those that
// they grow against.
std::vector<Reading> AgainstAxis(const Json& quantity, const Cells& cells) {
  KeyedGroups<ClaimCell> groups;
  for (const ClaimCell& cell : cells) {
    GroupOf(groups, Without(cell.labels, quantity.at("against")))
        .push_back(cell);
  }
  const double miss = MissOfOne(groups.size());
  std::vector<Reading> readings;
  for (const auto& [key, members] : groups) {
    readings.push_back(quantity.at("kind") == "exponent"
                           ? ExponentOf(quantity, key, members, miss)
                           : TimeGrowth(quantity, key, members, miss));
  }
  return readings;
}

}  // namespace

Readings ReadGrowth(const ClaimPart& part, const ClaimDocument& document) {
  const Json& quantity = part.quantity;
  Readings readings;
  const Cells cells = CellsOf(document, quantity.at("of"), readings.none);
  if (quantity.at("kind") == "count") {
    for (const ClaimCell& cell : cells) {
      readings.list.push_back(CountOf(quantity, cell));
    }
  } else if (quantity.at("kind") == "fit") {
    readings.list = Fits(quantity, cells);
  } else {
    readings.list = AgainstAxis(quantity, cells);
  }
  return readings;
}

}  // namespace attnbench
