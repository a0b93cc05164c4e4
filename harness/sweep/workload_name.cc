#include "harness/sweep/workload_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/base/error.h"
#include "harness/base/parse_text.h"
#include "harness/base/printable.h"
#include "harness/sweep/axes.h"

namespace attnbench {
namespace {

// NaN where the text is no finite number.
template <class Number>
Number FiniteNumber(std::string_view text) {
  Number value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() &&
                         end == text.data() + text.size() &&
                         std::isfinite(value);
  return is_number ? value : std::numeric_limits<Number>::quiet_NaN();
}

void ParseParameter(std::string_view text, std::string_view parameter,
                    const std::string& where, WorkloadName& name) {
  if (name.kind == WorkloadKind::kWaitK) {
    name.lag = ParseInteger(parameter, 1, kGreatestLength,
                            fmt::format("{}: '{}'", where, Shortened(text)));
  } else if (name.kind == WorkloadKind::kBias) {
    name.bias = FiniteNumber<float>(parameter);
    if (std::isfinite(name.bias)) return;
    throw UserError(where, fmt::format("'{}' needs a finite number after the "
                                       "colon, such as bias:-2",
                                       Shortened(text)));
  } else if (name.kind == WorkloadKind::kSymbols) {
    const std::size_t colon = parameter.find(':');
    name.sharpness = FiniteNumber<float>(parameter.substr(0, colon));
    if (colon != std::string_view::npos) {
      name.background = FiniteNumber<float>(parameter.substr(colon + 1));
      if (name.sharpness >= 0 && name.background >= 0) return;
    }
    throw UserError(where, fmt::format("'{}' needs two numbers from 0 on after "
                                       "the colon, such as symbols:8:8",
                                       Shortened(text)));
  } else if (name.kind == WorkloadKind::kCopy) {
    name.share = FiniteNumber<double>(parameter);
    if (name.share >= kLeastShare && name.share <= 1) return;
    throw UserError(where, fmt::format("'{}' needs a share from {} to 1 after "
                                       "the colon, such as copy:0.5",
                                       Shortened(text), kLeastShare));
  } else {
    name.path = parameter;
    if (access(name.path.c_str(), R_OK) == 0) return;
    throw UserError(where, fmt::format("'{}' names a file that cannot be read: "
                                       "{}",
                                       Shortened(text), std::strerror(errno)));
  }
}

}  // namespace

WorkloadName ParseWorkload(std::string_view text, const std::string& where) {
  for (const auto& [name, kind] : ValueNames<WorkloadKind>::kAll) {
    WorkloadName workload;
    workload.kind = kind;
    const std::size_t colon = name.find(':');
    if (text == name && colon == std::string_view::npos) return workload;
    if (colon == std::string_view::npos ||
        !text.starts_with(name.substr(0, colon + 1))) {
      continue;
    }
    ParseParameter(text, text.substr(colon + 1), where, workload);
    return workload;
  }
  throw UserError(where,
                  UnknownName("workload", text, NamesOf<WorkloadKind>()));
}

}  // namespace attnbench
