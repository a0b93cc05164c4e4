// Numbers and columns of the tables that the program prints.
#ifndef ATTNBENCH_HARNESS_ANSWERS_COLUMNS_H_
#define ATTNBENCH_HARNESS_ANSWERS_COLUMNS_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/stats/statistics.h"

namespace attnbench {

// Stands where there is no value.
inline constexpr char kNoValue[] = "-";

// Three digits, or all of a whole number: "0.123", "12.3", "1234".
std::string Digits(double value);
// A count in whole numbers, in groups of three digits: "53,776".
std::string CountText(double count);
// A factor with three decimals, or in three digits where that would be 0.000 or
// longer than a column.
std::string FactorText(double factor);

// "12.3 us [11.9, 12.8]"; the ends of the interval are in the same unit.
std::string TimeText(double ns, const std::optional<Interval>& interval);

// "4.1x [3.9, 4.3]"
std::string RatioText(double ratio, const std::optional<Interval>& interval);

// "12 %"
std::string PercentText(const std::optional<double>& share);

// Makes lines of columns, each as wide as its widest text. What stands last in
// its line may be longer.
std::vector<std::string> Aligned(
    const std::vector<std::vector<std::string>>& lines);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_ANSWERS_COLUMNS_H_
