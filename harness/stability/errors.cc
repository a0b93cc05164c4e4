#include "harness/stability/errors.h"

#include <fmt/format.h>

#include <cstdlib>

namespace attnbench {

Figure StabilityNumber(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  // std::stod would throw for numbers below the normal ones.
  return std::strtod(fmt::format("{:.3e}", value).c_str(), nullptr);
}

void Errors::Add(const RowDifference& row) {
  Add({.error = row.error,
       .relative_error = row.relative().value_or(0),
       .mass_error = std::abs(row.missing),
       .lost = row.missing,
       .largest = row.largest,
       .largest_exact = row.largest_exact,
       .not_finite = row.not_finite});
}

// A NaN of the other is left out.
void Errors::Add(const Errors& other) {
  error = std::max(error, other.error);
  relative_error = std::max(relative_error, other.relative_error);
  mass_error = std::max(mass_error, other.mass_error);
  lost = std::max(lost, other.lost);
  largest = std::max(largest, other.largest);
  largest_exact = std::max(largest_exact, other.largest_exact);
  not_finite += other.not_finite;
}

DiagnosedPlace PlaceOf(const DiagnosisRequest& request, std::size_t n,
                       std::size_t i) {
  const auto from_1 = [](std::size_t index) {
    return static_cast<std::int64_t>(index) + 1;
  };
  DiagnosedPlace place = {.sequence = from_1(n), .output = from_1(i)};
  if (request.shape.size() == 4) {  // [B, H, U, T]
    const std::size_t heads = Size(request.shape[1]);
    place.batch = from_1(n / heads);
    place.head = from_1(n % heads);
  }
  return place;
}

void KeepFirst(const std::optional<DiagnosedPlace>& other,
               std::optional<DiagnosedPlace>& first) {
  if (other && (!first || other->output < first->output)) first = other;
}

void SequenceErrors::AddOutput(const RowDifference& row, double tolerance,
                               DiagnosedPlace place) {
  ++outputs;
  mass_errors.push_back(row.missing);
  mass_error_sum += std::abs(row.missing);
  if (row.relative()) {
    const bool has_moved = row.moved && row.mass >= tolerance;
    moved += row.not_finite > 0 || has_moved ? 1 : 0;
  }
  if (row.error > error || outputs == 1) {
    worst = place;
    worst.entry = static_cast<std::int64_t>(row.worst) + 1;
  }
  const bool is_wrong = row.not_finite > 0 || row.error > tolerance ||
                        std::abs(row.missing) > tolerance;
  if (is_wrong && !first_wrong) first_wrong = place;
  Add(row);
}

void SequenceErrors::AddSequence(const SequenceErrors& other) {
  if (other.outputs > 0 && (outputs == 0 || other.error > error)) {
    worst = other.worst;
  }
  Add(other);
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
  KeepFirst(other.first_wrong, first_wrong);
}

void SequenceErrors::Write(DiagnosedVariant& made) const {
  made.outputs = std::ssize(mass_errors);
  made.not_finite = not_finite;
  if (outputs == 0) return;
  const auto count = static_cast<double>(outputs);
  made.moved = StabilityNumber(static_cast<double>(moved) / count);
  made.first_wrong = first_wrong;
  for (const double one : mass_errors) {
    made.mass_errors.push_back(StabilityNumber(one));
  }
  static_cast<AttentionErrors&>(made) = OfAttention();
  made.mean_mass_error = Shown(mass_error_sum / count);
  if (not_finite == 0) made.worst = worst;
}

}  // namespace attnbench
