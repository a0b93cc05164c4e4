// The setting of a mechanism that nobody has changed.
#ifndef ATTNBENCH_HARNESS_SWEEP_DEFAULT_CONFIG_H_
#define ATTNBENCH_HARNESS_SWEEP_DEFAULT_CONFIG_H_

#include <string>

#include "mechanisms/mechanism.h"

namespace attnbench {

// Every option at its default.
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
