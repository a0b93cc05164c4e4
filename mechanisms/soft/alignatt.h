// AlignAtt, a policy for decoding with soft attention while the memory still
// comes (Papi, Turchi and Negri 2023, "AlignAtt: Using attention-based
// audio-translation alignments as a guide for simultaneous speech translation",
// Interspeech). It is of test time alone: the model is trained as ever.
//
// With n entries read, an output is emitted if the entry of the largest weight
// over these n is older than the last f of them,
//
//   argmax over j < n of e(i, j)  <  n - f                 (j counts from 0)
//
// and else another entry is read. Once the whole memory is read, every output
// is emitted. Entries stay read, so
//
//   n(i) = the least n >= n(i-1) that lets output i be emitted, or T
//   c(i) = sum over j < n(i) of softmax(e(i, 0..n(i)-1))_j h(j)
//
// and n(i) is the delay g(i) of latency.h. f = 1 waits only while the newest
// entry has the largest weight; f >= T waits for the end, as without a policy.
//
// The paper and its program (hlt-mt/FBK-fairseq, simul_offline_alignatt.py) get
// the memory in blocks and decide at the end of each; here entries are read one
// by one, so that outputs do not depend on how the memory is cut. Of equal
// weights the oldest counts. The program also leaves out the last position of
// its attention before it looks, and re-decodes outputs that were not emitted;
// a decoder here has one state for an output, and looks at all entries.
//
// O(n(i) d) for output i: each energy is evaluated once, however often the
// output had to wait.
#ifndef ATTNBENCH_MECHANISMS_SOFT_ALIGNATT_H_
#define ATTNBENCH_MECHANISMS_SOFT_ALIGNATT_H_

#include <memory>
#include <vector>

#include "mechanisms/mechanism.h"

namespace attnbench::soft {

inline constexpr char kAlignAtt[] = "alignatt";

// The options `policy` and `f`.
std::vector<OptionSpec> PolicyOptions();

template <class Real>
std::unique_ptr<Decoder<Real>> MakeAlignAttDecoder(
    const Config& config, const SequenceInputs<Real>& inputs);

// The oracle, which reads one entry after another, in a wider type. It is a
// Follower: where rounding alone decides, an output is emitted where the last
// entry read is the one that it is told.
template <class Real>
std::unique_ptr<Decoder<Real>> MakeAlignAttReference(
    const Config& config, const SequenceInputs<Real>& inputs);

}  // namespace attnbench::soft

#endif  // ATTNBENCH_MECHANISMS_SOFT_ALIGNATT_H_
