#include "harness/stability/sequence_errors.h"

#include <algorithm>
#include <cmath>

#include "harness/stability/row_difference.h"
#include "harness/stability/stability.h"

namespace attnbench {
namespace {

void AddRow(const RowDifference& row, double tolerance, DiagnosedPlace place,
            Found& found) {
  ++found.outputs;
  found.not_finite += row.not_finite;
  found.mass_errors.push_back(row.missing);
  found.mass_error_sum += std::abs(row.missing);
  if (const std::optional<double> relative = row.relative()) {
    found.relative_error = std::max(found.relative_error, *relative);
    const bool moved = row.moved && row.mass >= tolerance;
    found.moved += row.not_finite > 0 || moved ? 1 : 0;
  }
  if (row.error > found.error || found.outputs == 1) {
    found.error = row.error;
    found.worst = place;
    found.worst.entry = static_cast<std::int64_t>(row.worst) + 1;
  }
  const bool is_wrong = row.not_finite > 0 || row.error > tolerance ||
                        std::abs(row.missing) > tolerance;
  if (is_wrong && !found.first_wrong) found.first_wrong = place;
}

}  // namespace

Index RowsOf(const StabilityScores& scores, const std::string& source) {
  return scores.at(source).rows;
}
Index ColsOf(const StabilityScores& scores, const std::string& source) {
  return scores.at(source).cols;
}

StabilityScores FirstOutputs(const StabilityScores& scores,
                             const Description& about, Index outputs) {
  StabilityScores first;
  for (const auto& [name, table] : scores) {
    if (!TakesScore(about, name)) continue;
    Table<float>& part = first[name];
    part = Table<float>(outputs, table.cols);
    std::copy_n(table.values.begin(), part.values.size(), part.values.begin());
  }
  return first;
}

StabilityPoint PointOf(const std::string& mechanism,
                       const StabilityScores& scores,
                       const std::string& source) {
  StabilityPoint point;
  point.mechanism = mechanism;
  point.memory_length = ColsOf(scores, source);
  point.output_length = RowsOf(scores, source);
  return point;
}

void Found::Add(const Found& other) {
  if (other.outputs > 0 && (outputs == 0 || other.error > error)) {
    error = other.error;
    worst = other.worst;
  }
  relative_error = std::max(relative_error, other.relative_error);
  mass_error_sum += other.mass_error_sum;
  mass_errors.resize(std::max(mass_errors.size(), other.mass_errors.size()));
  for (std::size_t i = 0; i < other.mass_errors.size(); ++i) {
    // NaN stays: nothing is larger.
    if (!std::isnan(mass_errors[i]) &&
        !(std::abs(other.mass_errors[i]) <= std::abs(mass_errors[i]))) {
      mass_errors[i] = other.mass_errors[i];
    }
  }
  moved += other.moved;
  outputs += other.outputs;
  not_finite += other.not_finite;
  if (other.first_wrong &&
      (!first_wrong || other.first_wrong->output < first_wrong->output)) {
    first_wrong = other.first_wrong;
  }
}

template <class Real>
Found CompareSequence(const Table<double>& exact, const Table<Real>& made,
                      double tolerance, Index sequence) {
  Found found;
  for (Index i = 0; i < made.rows; ++i) {
    AddRow(CompareRows<Real>(exact.view().Row(i), made.view().Row(i)),
           tolerance, {.sequence = sequence + 1, .output = i + 1}, found);
  }
  return found;
}

template Found CompareSequence(const Table<double>&, const Table<float>&,
                               double, Index);
template Found CompareSequence(const Table<double>&, const Table<double>&,
                               double, Index);

void WriteErrors(const Found& all, DiagnosedVariant& made) {
  made.outputs = std::ssize(all.mass_errors);
  made.not_finite = all.not_finite;
  if (all.outputs == 0) return;
  const auto count = static_cast<double>(all.outputs);
  made.moved = StabilityNumber(static_cast<double>(all.moved) / count);
  made.first_wrong = all.first_wrong;
  double mass = 0;
  for (const double error : all.mass_errors) {
    made.mass_errors.push_back(StabilityNumber(error));
    mass = std::max(mass, std::abs(error));
  }
  if (all.not_finite > 0) return;
  made.attention_error = StabilityNumber(all.error);
  made.relative_error = StabilityNumber(all.relative_error);
  made.mass_error = StabilityNumber(mass);
  made.mean_mass_error = StabilityNumber(all.mass_error_sum / count);
  made.worst = all.worst;
}

}  // namespace attnbench
