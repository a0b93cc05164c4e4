// Decoders over protocol.h: the variants published_O0 and published_O3 of soft
// and hard monotonic attention. They take double precision, energy `dot`, and
// for monotonic end `stay_last` with the default threshold; anything else is
// Unsupported, since it would no longer be what was published.
#ifndef ATTNBENCH_MECHANISMS_PUBLISHED_PUBLISHED_H_
#define ATTNBENCH_MECHANISMS_PUBLISHED_PUBLISHED_H_

#include <memory>

#include "mechanisms/mechanism.h"

namespace attnbench::published {

VariantSpec VariantO0();
VariantSpec VariantO3();
bool IsPublished(const std::string& variant);

template <class Real>
std::unique_ptr<Decoder<Real>> MakeSoftDecoder(
    const Config& config, const SequenceInputs<Real>& inputs);
template <class Real>
std::unique_ptr<Decoder<Real>> MakeMonotonicDecoder(
    const Config& config, const SequenceInputs<Real>& inputs);

}  // namespace attnbench::published

#endif  // ATTNBENCH_MECHANISMS_PUBLISHED_PUBLISHED_H_
