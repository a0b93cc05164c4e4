#include "mechanisms/registry.h"

#include <array>
#include <memory>

#include "mechanisms/description.h"

// A mechanism is one line here, and nothing else has to be edited:
// CMakeLists.txt takes the source files from these names
// (mechanisms/NAME/NAME.cc and NAME_reference.cc), and NAME.cc defines
// attnbench::NAME::MakeMechanism.
#define ATTNBENCH_MECHANISMS(MECHANISM) \
  MECHANISM(soft)                       \
  MECHANISM(monotonic)                  \
  MECHANISM(mocha)                      \
  MECHANISM(matcha)                     \
  MECHANISM(memory)                     \
  ATTNBENCH_FURTHER_MECHANISMS(MECHANISM)

// A program that is built out of this tree names its own (attnbench_register).
#ifndef ATTNBENCH_FURTHER_MECHANISMS
#define ATTNBENCH_FURTHER_MECHANISMS(MECHANISM)
#endif

namespace attnbench {

#define ATTNBENCH_DECLARE(name)                           \
  namespace name {                                        \
  template <class Real>                                   \
  std::unique_ptr<const Mechanism<Real>> MakeMechanism(); \
  }
ATTNBENCH_MECHANISMS(ATTNBENCH_DECLARE)
#undef ATTNBENCH_DECLARE

template <class Real>
std::span<const Mechanism<Real>* const> Mechanisms() {
#define ATTNBENCH_MAKE(name) name::MakeMechanism<Real>(),
  static const std::array owners = {ATTNBENCH_MECHANISMS(ATTNBENCH_MAKE)};
#undef ATTNBENCH_MAKE
  static const auto pointers = [] {
    std::array<const Mechanism<Real>*, owners.size()> all{};
    std::array<const Description*, owners.size()> descriptions{};
    for (std::size_t m = 0; m < owners.size(); ++m) {
      all[m] = owners[m].get();
      descriptions[m] = &all[m]->Describe();
    }
    CheckDescriptions(descriptions);
    return all;
  }();
  return pointers;
}

template <class Real>
const Mechanism<Real>* FindMechanism(std::string_view name) {
  for (const Mechanism<Real>* mechanism : Mechanisms<Real>()) {
    if (mechanism->Describe().name == name) return mechanism;
  }
  return nullptr;
}

template std::span<const Mechanism<float>* const> Mechanisms();
template std::span<const Mechanism<double>* const> Mechanisms();
template const Mechanism<float>* FindMechanism(std::string_view name);
template const Mechanism<double>* FindMechanism(std::string_view name);

}  // namespace attnbench
