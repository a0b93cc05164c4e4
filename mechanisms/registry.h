// All mechanisms, in the order in which they are listed.
#ifndef ATTNBENCH_MECHANISMS_REGISTRY_H_
#define ATTNBENCH_MECHANISMS_REGISTRY_H_

#include <span>
#include <string_view>

#include "mechanisms/mechanism.h"

namespace attnbench {

// Real is float or double.
template <class Real>
std::span<const Mechanism<Real>* const> Mechanisms();

// The mechanism of that name, or null.
template <class Real>
const Mechanism<Real>* FindMechanism(std::string_view name);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_REGISTRY_H_
