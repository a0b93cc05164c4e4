// The uses that the harness has for random numbers. Philox keeps numbers of
// different purposes apart, so that a new use never moves the numbers of an old
// one: results stay comparable. Never renumber; append.
#ifndef ATTNBENCH_HARNESS_BASE_PURPOSES_H_
#define ATTNBENCH_HARNESS_BASE_PURPOSES_H_

#include <cstdint>

#include "mechanisms/common/philox.h"

namespace attnbench {

inline constexpr std::uint32_t kMemoryPurpose = kFirstHarnessPurpose;
inline constexpr std::uint32_t kStatesPurpose = kFirstHarnessPurpose + 1;
inline constexpr std::uint32_t kChunkKeysPurpose = kFirstHarnessPurpose + 2;
inline constexpr std::uint32_t kChunkStatesPurpose = kFirstHarnessPurpose + 3;
inline constexpr std::uint32_t kChunkEnergiesPurpose = kFirstHarnessPurpose + 4;
inline constexpr std::uint32_t kPathPurpose = kFirstHarnessPurpose + 5;
inline constexpr std::uint32_t kPlantedNoisePurpose = kFirstHarnessPurpose + 6;
inline constexpr std::uint32_t kPairsPurpose = kFirstHarnessPurpose + 7;
inline constexpr std::uint32_t kSchedulePurpose = kFirstHarnessPurpose + 8;
inline constexpr std::uint32_t kCotangentPurpose = kFirstHarnessPurpose + 9;
inline constexpr std::uint32_t kVerifyPurpose = kFirstHarnessPurpose + 10;
inline constexpr std::uint32_t kStabilityPurpose = kFirstHarnessPurpose + 11;
inline constexpr std::uint32_t kSourceLengthPurpose = kFirstHarnessPurpose + 12;
inline constexpr std::uint32_t kSourcePurpose = kFirstHarnessPurpose + 13;
inline constexpr std::uint32_t kClaimsPurpose = kFirstHarnessPurpose + 14;
inline constexpr std::uint32_t kArrayGapPurpose = kFirstHarnessPurpose + 15;
inline constexpr std::uint32_t kTrainingSetPurpose = kFirstHarnessPurpose + 16;
inline constexpr std::uint32_t kHeldOutSetPurpose = kFirstHarnessPurpose + 17;
inline constexpr std::uint32_t kPrototypePurpose = kFirstHarnessPurpose + 18;
inline constexpr std::uint32_t kSymbolsPurpose = kFirstHarnessPurpose + 19;
inline constexpr std::uint32_t kSymbolNoisePurpose = kFirstHarnessPurpose + 20;
// Hashes of names start here: the purposes of parameters, and of scores and
// further inputs that have no number above (NamedPurpose). A new input needs
// no line in this file.
inline constexpr std::uint32_t kFirstNamedPurpose = 0x80000000;

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_PURPOSES_H_
