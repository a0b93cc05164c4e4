// Guards against a batch that is not the same as its sequences: padding that is
// read, contexts written beside their rows, results that depend on threads or
// on the neighbours of a sequence.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/property.h"

namespace attnbench {
namespace {

using testing::CheckProperty;
using testing::DrawConfig;
using testing::DrawIndex;
using testing::DrawnInputs;
using testing::DrawOneOf;

// Sequences of different lengths in arrays [B, longest, stride], as a framework
// pads them, with NaN wherever there is padding and in the contexts.
template <class Real>
class PaddedBatch {
 public:
  PaddedBatch(std::vector<DrawnInputs<Real>>& sequences, Index row_padding)
      : sequences_(sequences) {
    for (const auto& sequence : sequences) {
      stride_ = sequence.d + row_padding;
      longest_ = std::max({longest_, sequence.T, sequence.U});
    }
    const std::size_t size = sequences.size() * Size(longest_ * stride_);
    for (std::vector<Real>* array :
         {&memory_, &chunk_keys_, &states_, &chunk_states_, &contexts_}) {
      array->assign(size, std::numeric_limits<Real>::quiet_NaN());
    }
    for (std::size_t b = 0; b < sequences.size(); ++b) {
      const DrawnInputs<Real>& from = sequences[b];
      CopyRows(b, from.memory, from.T, memory_);
      CopyRows(b, from.chunk_keys, from.T, chunk_keys_);
      CopyRows(b, from.states, from.U, states_);
      CopyRows(b, from.chunk_states, from.U, chunk_states_);
    }
  }

  std::vector<Sequence<Real>> View() {
    std::vector<Sequence<Real>> batch;
    for (std::size_t b = 0; b < sequences_.size(); ++b) {
      Sequence<Real>& sequence = batch.emplace_back();
      const Index T = sequences_[b].T, U = sequences_[b].U;
      sequence.inputs.parameters = &sequences_[0].parameters;
      sequence.inputs.stream = static_cast<std::uint32_t>(b);
      sequence.memory = Rows(b, memory_, T);
      sequence.inputs.further.Set("chunk_keys", Rows(b, chunk_keys_, T));
      sequence.states = Rows(b, states_, U);
      sequence.inputs.further.Set("chunk_states", Rows(b, chunk_states_, U));
      sequence.contexts = Rows(b, contexts_, U);
    }
    return batch;
  }

  // The contexts of sequence b. An element that was not written is NaN, and
  // nothing else may have been written.
  std::vector<Real> Contexts(std::size_t b) const {
    std::vector<Real> contexts;
    const Index d = sequences_[b].d;
    for (Index i = 0; i < sequences_[b].U; ++i) {
      const Real* row = &contexts_[Offset(b) + Size(i * stride_)];
      contexts.insert(contexts.end(), row, row + d);
    }
    return contexts;
  }
  bool PaddingIsUntouched() const {
    std::size_t numbers = 0, written = 0;
    for (const Real x : contexts_) numbers += std::isnan(x) ? 0 : 1;
    for (const auto& sequence : sequences_) {
      written += Size(sequence.U * sequence.d);
    }
    return numbers == written;
  }

 private:
  std::size_t Offset(std::size_t b) const {
    return b * Size(longest_ * stride_);
  }
  MatrixView<Real> Rows(std::size_t b, std::vector<Real>& all, Index count) {
    return {all.data() + Offset(b), count, sequences_[b].d, stride_};
  }
  void CopyRows(std::size_t b, const std::vector<Real>& from, Index count,
                std::vector<Real>& to) {
    const MatrixView<Real> rows = Rows(b, to, count);
    for (Index r = 0; r < count; ++r) {
      std::copy_n(from.begin() + r * rows.cols, rows.cols, rows.Row(r).data());
    }
  }

  const std::vector<DrawnInputs<Real>>& sequences_;
  Index stride_ = 0, longest_ = 0;
  std::vector<Real> memory_, chunk_keys_, states_, chunk_states_, contexts_;
};

template <class Real>
std::vector<DrawnInputs<Real>> DrawSequences(Index dim) {
  std::vector<DrawnInputs<Real>> sequences;
  const Index count = DrawIndex("B", 1, 7);
  for (Index b = 0; b < count; ++b) {
    sequences.emplace_back(DrawIndex("T", 0, 40), DrawIndex("U", 0, 12), dim,
                           static_cast<unsigned>(b));
  }
  return sequences;
}

template <class Real>
void DecodeAlone(const Mechanism<Real>& mechanism, const Config& config,
                 std::vector<DrawnInputs<Real>>& sequences) {
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    Sequence<Real> sequence = sequences[b].View();
    sequence.inputs.parameters = &sequences[0].parameters;
    sequence.inputs.stream = static_cast<std::uint32_t>(b);
    DecodeBatch<Real>(mechanism, config, {&sequence, 1}, 1);
  }
}

template <class Real>
class PaddingTest : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PaddingTest, Precisions);

TYPED_TEST(PaddingTest, ABatchOnAnyThreadsIsEachSequenceAlone) {
  using Real = TypeParam;
  for (const Mechanism<Real>* mechanism : Mechanisms<Real>()) {
    SCOPED_TRACE(mechanism->Describe().name);
    CheckProperty(
        [mechanism] {
          const Index dim = DrawIndex("d", 1, 20);
          Config config = DrawConfig(*mechanism, dim);
          config.want_weights = false;
          auto sequences = DrawSequences<Real>(dim);
          DecodeAlone(*mechanism, config, sequences);
          for (const int threads : {1, 2, 3}) {
            PaddedBatch<Real> padded(sequences, DrawIndex("padding", 0, 3));
            const auto batch = padded.View();
            DecodeBatch<Real>(*mechanism, config, batch, threads);
            RC_ASSERT(padded.PaddingIsUntouched());
            for (std::size_t b = 0; b < sequences.size(); ++b) {
              RC_ASSERT(
                  testing::SameBits(padded.Contexts(b), sequences[b].contexts));
            }
          }
        },
        40);
  }
}

// The matrix products of the other energies may round differently where rows
// lie differently, but padding must not be seen.
TYPED_TEST(PaddingTest, EveryEnergyIgnoresPadding) {
  using Real = TypeParam;
  const double tolerance = std::is_same_v<Real, float> ? 3e-5 : 1e-12;
  CheckProperty(
      [tolerance] {
        const Index dim = DrawIndex("d", 1, 12);
        const Mechanism<Real>& mechanism = *FindMechanism<Real>(
            DrawOneOf<std::string>("mechanism", {"soft", "mocha"}));
        Config config = DrawConfig(mechanism, dim);
        config.energy = DrawOneOf<EnergyKind>(
            "energy",
            {EnergyKind::kBilinear, EnergyKind::kAdditive,
             EnergyKind::kNormalizedAdditive, EnergyKind::kScaledBilinear});
        auto sequences = DrawSequences<Real>(dim);
        DecodeAlone(mechanism, config, sequences);
        PaddedBatch<Real> padded(sequences, 2);
        DecodeBatch<Real>(mechanism, config, padded.View(), 2);
        RC_ASSERT(padded.PaddingIsUntouched());
        for (std::size_t b = 0; b < sequences.size(); ++b) {
          const std::vector<Real> contexts = padded.Contexts(b);
          for (std::size_t n = 0; n < contexts.size(); ++n) {
            RC_ASSERT(std::abs(static_cast<double>(contexts[n] -
                                                   sequences[b].contexts[n])) <=
                      tolerance);
          }
        }
      },
      100);
}

TYPED_TEST(PaddingTest, TeacherForcedBatchesIgnorePaddingBetweenSequences) {
  using Real = TypeParam;
  const double tolerance = std::is_same_v<Real, float> ? 3e-5 : 1e-12;
  CheckProperty(
      [tolerance] {
        const Index dim = DrawIndex("d", 1, 20);
        const Mechanism<Real>& mechanism = *FindMechanism<Real>("soft");
        Config config = DrawConfig(mechanism, dim);
        config.schedule = Schedule::kTeacherForced;
        config.options["policy"] = std::string("offline");  // the only one
        auto sequences = DrawSequences<Real>(dim);
        DecodeAlone(mechanism, config, sequences);
        PaddedBatch<Real> padded(sequences, 0);
        DecodeBatch<Real>(mechanism, config, padded.View(), 3);
        RC_ASSERT(padded.PaddingIsUntouched());
        for (std::size_t b = 0; b < sequences.size(); ++b) {
          const std::vector<Real> contexts = padded.Contexts(b);
          for (std::size_t n = 0; n < contexts.size(); ++n) {
            RC_ASSERT(std::abs(static_cast<double>(contexts[n] -
                                                   sequences[b].contexts[n])) <=
                      tolerance);
          }
        }
      },
      60);
}

}  // namespace
}  // namespace attnbench
