// The position encodings L of Britz 3.2 (eq 10) and their renormalisations, for
// the decoder and for training.
#ifndef ATTNBENCH_MECHANISMS_MEMORY_POSITION_ENCODING_H_
#define ATTNBENCH_MECHANISMS_MEMORY_POSITION_ENCODING_H_

#include <string>

#include "mechanisms/memory/memory.h"

namespace attnbench::memory {

// L_kt = row_scale_k raw_kt, with raw_kt of eq 10.
class PositionEncoding {
 public:
  explicit PositionEncoding(const Config& config)
      : num_contexts_(NumContexts(config)),
        max_length_(config.Option<std::int64_t>("max_length")),
        kind_(config.Option<std::string>("position_encoding")),
        on_(kind_ != "none"),
        inside_(config.Option<std::string>("place") == "inside") {}

  // Asked for at every entry, so it must not compare texts: where on a page of
  // memory these lie decides how many instructions that takes.
  bool on() const { return on_; }
  bool inside() const { return on() && inside_; }
  bool outside() const { return on() && !inside_; }

  // Call it before Apply. Throws Unsupported where max_length is less than T.
  void SetLength(Index memory_length) {
    position_scale_ = PositionScale(max_length_, memory_length);
    if (!on()) return;
    row_scale_.assign(Size(num_contexts_), 1.0);
    if (kind_ == "raw") return;
    const double target =
        kind_ == "renormalized" ? 1.0 / static_cast<double>(memory_length) : 1;
    for (Index k = 0; k < num_contexts_; ++k) {
      // L is linear in t, so the mean of a row is that of its ends.
      const double mean = (Raw(k, 0) + Raw(k, memory_length - 1)) / 2;
      row_scale_[Size(k)] = target / mean;
    }
  }

  // scores[k] *= L(k + 1, t + 1) for all k; the same takes a gradient back.
  template <class Real>
  void Apply(Index t, Real* scores) const {
    for (Index k = 0; k < num_contexts_; ++k) {
      scores[k] *= static_cast<Real>(row_scale_[Size(k)] * Raw(k, t));
    }
  }

 private:
  double Raw(Index k, Index t) const {
    const double k_part =
        static_cast<double>(k + 1) / static_cast<double>(num_contexts_);
    const double t_part =
        static_cast<double>(t + 1) / static_cast<double>(position_scale_);
    return (1 - k_part) * (1 - t_part) + k_part * t_part;
  }

  const Index num_contexts_;
  const Index max_length_;
  const std::string kind_;
  const bool on_;
  const bool inside_;
  Index position_scale_ = 1;
  Buffer<double> row_scale_;  // [K]
};

}  // namespace attnbench::memory

#endif  // ATTNBENCH_MECHANISMS_MEMORY_POSITION_ENCODING_H_
