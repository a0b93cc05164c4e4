#include "mechanisms/sample.h"

#include <algorithm>

namespace attnbench {
namespace {

constexpr char kSampleOption[] = "sample";

}  // namespace

bool ChoosesAtRandom(const Description& description) {
  return std::any_of(
      description.options.begin(), description.options.end(),
      [](const OptionSpec& option) { return option.name == kSampleOption; });
}

Config SamplingConfig(const Description& description, Config config) {
  config.want_weights = true;
  if (ChoosesAtRandom(description)) config.options[kSampleOption] = true;
  return config;
}

}  // namespace attnbench
