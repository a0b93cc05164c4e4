#include "harness/answers/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace attnbench {
namespace {

std::string SpanText(const std::optional<Interval>& interval, double unit) {
  if (!interval) return "";
  return fmt::format(" [{}, {}]", Digits(interval->low / unit),
                     Digits(interval->high / unit));
}

}  // namespace

std::string Digits(double value) {
  constexpr double kLongest = 9'999'999.5;
  return value >= 99.95 && value < kLongest ? fmt::format("{:.0f}", value)
                                            : fmt::format("{:.3g}", value);
}

std::string CountText(double count) {
  std::string text = fmt::format("{:.0f}", count);
  for (auto end = std::ssize(text) - 3; end > 0; end -= 3) {
    text.insert(static_cast<std::size_t>(end), ",");
  }
  return text;
}

std::string FactorText(double factor) {
  constexpr double kLeast = 0.0005, kLongest = 99'999.9995;
  if (factor == 0 || (factor >= kLeast && factor < kLongest)) {
    return fmt::format("{:.3f}", factor);
  }
  return std::isinf(factor) ? "over 1e308" : fmt::format("{:.3g}", factor);
}

std::string TimeText(double ns, const std::optional<Interval>& interval) {
  constexpr std::array<const char*, 4> kUnits = {"ns", "us", "ms", "s"};
  std::size_t step = 0;
  double unit = 1;
  while (ns / unit >= 999.5 && step + 1 < kUnits.size()) {
    unit *= 1000;
    ++step;
  }
  return fmt::format("{} {}{}", Digits(ns / unit), kUnits[step],
                     SpanText(interval, unit));
}

std::string RatioText(double ratio, const std::optional<Interval>& interval) {
  return fmt::format("{}x{}", Digits(ratio), SpanText(interval, 1));
}

std::string PercentText(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", 100 * *share) : kNoValue;
}

std::vector<std::string> Aligned(
    const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::vector<std::string> texts;
  for (const std::vector<std::string>& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      text += "  " + line[i];
      if (i + 1 < line.size()) text.append(widths[i] - line[i].size(), ' ');
    }
    texts.push_back(text.substr(0, text.find_last_not_of(' ') + 1));
  }
  return texts;
}

}  // namespace attnbench
