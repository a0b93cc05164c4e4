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
  // Where rounding alone decides, the decoder takes these positions: the
  // FollowedPosition of each head of each output. What they point to outlives
  // it. If there are none, it decides by itself.
  virtual void Follow(std::span<const Index> positions) = 0;
};

// What a reference follows of a head: the entry chosen or, without a choice,
// the last one weighed, which a policy (alignatt.h) has chosen to read up to;
// -1 where nothing was weighed.
template <class Real>
Index FollowedPosition(const StepResult<Real>& head) {
  return head.position >= 0 ? head.position : head.end - 1;
}

// Has a new decoder follow; one that is no Follower decides by itself.
template <class Real>
void Follow(Decoder<Real>& decoder, std::span<const Index> positions) {
  auto* const follower = dynamic_cast<Follower*>(&decoder);
  if (follower != nullptr) follower->Follow(positions);
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_FOLLOW_H_
