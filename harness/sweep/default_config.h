// A mechanism's setting before anybody changes it.
#ifndef ATTNBENCH_HARNESS_SWEEP_DEFAULT_CONFIG_H_
#define ATTNBENCH_HARNESS_SWEEP_DEFAULT_CONFIG_H_

#include <string>

#include "mechanisms/mechanism.h"

namespace attnbench {

// Sets every option to its default.
inline Config DefaultConfig(const Description& about,
                            const std::string& mode = "decode") {
  Config config;
  config.mode = mode;
  for (const OptionSpec& option : about.options) {
    config.options[option.name] = option.default_value;
  }
  return config;
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_DEFAULT_CONFIG_H_
