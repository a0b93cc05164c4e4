// What operators take as texts: the end policy, and options of a registered
// mechanism.
#ifndef ATTNBENCH_MECHANISMS_TORCH_OPTIONS_H_
#define ATTNBENCH_MECHANISMS_TORCH_OPTIONS_H_

#include <c10/util/string_view.h>

#include <string>

#include "mechanisms/mechanism.h"

namespace attnbench::torch_operators {

// Throws c10::ValueError that names `end` if there is no such policy.
EndPolicy EndOf(c10::string_view text);
const char* TextOf(EndPolicy end);

// Gives the description of a mechanism whose attention follows from energies
// alone. Throws c10::ValueError that names `mechanism`, and those that there
// are, if it is not known or not one of them.
const Description& DescribeEnergyMechanism(const std::string& name);

// Gives the config of options, NAME=VALUE,NAME=VALUE: end of mechanisms that
// have this axis, and those of the description that are of all its variants,
// with the values of `attnbench list` (chunk_width can be inf). What is
// left out is at its default. Throws c10::ValueError that names `options` and
// the option, and says what is allowed. `noise` is refused: it would be the
// same in every call.
Config ConfigOf(const Description& about, c10::string_view options);

}  // namespace attnbench::torch_operators

#endif  // ATTNBENCH_MECHANISMS_TORCH_OPTIONS_H_
