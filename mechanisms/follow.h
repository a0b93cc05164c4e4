// Makes a reference follow the choices of the decoder that it is compared with.
// Where rounding alone decides between choosing an entry and passing it, both
// may be right, and from there on would have nothing in common.
#ifndef ATTNBENCH_MECHANISMS_FOLLOW_H_
#define ATTNBENCH_MECHANISMS_FOLLOW_H_

#include <span>

#include "mechanisms/mechanism.h"

namespace attnbench {

// A reference decoder that chooses is one of these, too.
class Follower {
 public:
  virtual ~Follower() = default;
  // Where rounding alone decides, the decoder takes these positions: one of
  // each head of each output, -1 where none was chosen. What they point to
  // outlives it. If there are none, it decides by itself.
  virtual void Follow(std::span<const Index> positions) = 0;
};

// Has a new decoder follow; one that is no Follower decides by itself.
template <class Real>
void Follow(Decoder<Real>& decoder, std::span<const Index> positions) {
  auto* const follower = dynamic_cast<Follower*>(&decoder);
  if (follower != nullptr) follower->Follow(positions);
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_FOLLOW_H_
