// Looks things up in a Description, and refuses one that does not fit together.
#ifndef ATTNBENCH_MECHANISMS_DESCRIPTION_H_
#define ATTNBENCH_MECHANISMS_DESCRIPTION_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mechanisms/mechanism.h"

namespace attnbench {

// A config with every option at its default.
Config DefaultConfig(const Description& description, Mode mode = Mode::kDecode);

// The variant that the config names.
const VariantSpec& VariantOf(const Description& description,
                             const Config& config);

// The option of that name, or null.
const OptionSpec* FindOption(const Description& description,
                             std::string_view name);

// Option `policy` of mechanisms that train on the whole memory. Its default is
// to decode with the whole memory, too; with another value decoding is online,
// and what trains is not the expectation of what decodes.
inline constexpr char kPolicyOption[] = "policy";

// Whether the config has such a policy, other than the default.
bool HasPolicy(const Description& description, const Config& config);

// Whether decoding under this config emits before the memory is complete.
bool DecodesOnline(const Description& description, const Config& config);

// The function that a mode needs.
const char* FunctionOf(Mode mode);

// Whether the mechanism has that mode, and whether a variant exists in it.
bool HasMode(const Description& description, Mode mode);
bool HasMode(const VariantSpec& variant, Mode mode);

// Whether what runs under this config must give what `reference` gives.
bool MustAgree(const Description& description, const Config& config);

// The score of that name that can be given, or null.
const InputSpec* FindScore(const Description& description,
                           std::string_view name);

// The inputs of Description::further that are read under this config.
std::vector<InputSpec> FurtherInputs(const Description& description,
                                     const Config& config);

// Throws std::invalid_argument that names the mechanism and the input: a name
// that is empty, stands twice or is taken (memory, states, contexts, attention,
// cotangent), a shape that is not two of the letters T, U, d and K, a length K
// of an input that is no score, or of a mechanism without option num_contexts,
// an input that only an energy function reads though the mechanism does not
// have the axis `energy`, a list of scores that is empty, or an input that
// another mechanism declares otherwise. It also
// names an option whose variant there is not, or whose verified values are not
// of its type.
void CheckDescriptions(std::span<const Description* const> descriptions);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_DESCRIPTION_H_
