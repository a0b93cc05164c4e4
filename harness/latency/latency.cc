#include "harness/latency/latency.h"

#include <algorithm>

namespace attnbench {
namespace {

// AL with U / T replaced by `pace` / T. The sums are whole where the delays
// are, so only the two divisions round.
double AverageLagging(std::span<const double> delays, double length,
                      double pace) {
  double sum = 0;
  double count = 0;
  for (const double delay : delays) {
    sum += delay;
    ++count;
    if (delay >= length) break;
  }
  return sum / count - length * (count - 1) / (2 * pace);
}

// This computes in units of 1/U entries, in which whole delays stay whole
// numbers.
double DifferentiableAverageLagging(std::span<const double> delays,
                                    double length) {
  const auto outputs = static_cast<double>(delays.size());
  double sum = 0;
  double delay = 0;    // g'(i)
  double on_pace = 0;  // (i-1) / gamma
  double least = 0;    // g'(i-1) + 1/gamma
  for (const double read : delays) {
    delay = std::max(outputs * read, least);
    sum += delay - on_pace;
    least = delay + length;
    on_pace += length;
  }
  return sum / (outputs * outputs);
}

}  // namespace

std::vector<double> DelaysOf(std::span<const StepTrace> steps,
                             Index memory_length) {
  std::vector<double> delays;
  delays.reserve(steps.size());
  Index read = 0;
  for (const StepTrace& step : steps) {
    read = std::max(read, step.end > step.begin ? step.end : memory_length);
    if (step.head == 0) delays.emplace_back();
    delays.back() = static_cast<double>(read);
  }
  return delays;
}

std::optional<Latency> LatencyOf(std::span<const double> delays,
                                 Index memory_length, Index reference_length) {
  if (delays.empty() || memory_length == 0) return std::nullopt;
  const auto outputs = static_cast<double>(delays.size());
  const auto length = static_cast<double>(memory_length);
  double sum = 0;
  for (const double delay : delays) sum += delay;
  const double longer =
      std::max(outputs, static_cast<double>(reference_length));
  return Latency{.ap = sum / (outputs * length),
                 .al = AverageLagging(delays, length, outputs),
                 .laal = AverageLagging(delays, length, longer),
                 .dal = DifferentiableAverageLagging(delays, length)};
}

void LatencyMean::Add(const std::optional<Latency>& latency) {
  if (!latency.has_value()) return;
  for (double Latency::*const value : kLatencyFigures) {
    sum_.*value += (*latency).*value;
  }
  ++count_;
}

void LatencyMean::Add(const LatencyMean& other) {
  for (double Latency::*const value : kLatencyFigures) {
    sum_.*value += other.sum_.*value;
  }
  count_ += other.count_;
}

std::optional<Latency> LatencyMean::Mean() const {
  if (count_ == 0) return std::nullopt;
  Latency mean = sum_;
  for (double Latency::*const value : kLatencyFigures) {
    mean.*value /= static_cast<double>(count_);
  }
  return mean;
}

ThresholdDecoding SummaryOf(std::span<const DecodedSteps> sequences) {
  ThresholdDecoding summary;
  LatencyMean latency;
  double outputs = 0, zero_contexts = 0;
  for (const auto& [steps, memory_length] : sequences) {
    for (const StepTrace& step : steps) {
      zero_contexts += step.position < 0 ? 1 : 0;
    }
    outputs += static_cast<double>(steps.size());
    const std::vector<double> delays = DelaysOf(steps, memory_length);
    summary.memory_read += delays.back() / static_cast<double>(memory_length);
    latency.Add(LatencyOf(delays, memory_length, std::ssize(delays)));
  }
  summary.zero_contexts = zero_contexts / outputs;
  summary.memory_read /= static_cast<double>(sequences.size());
  summary.latency = latency.Mean();
  return summary;
}

}  // namespace attnbench
