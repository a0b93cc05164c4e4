// What a decoder keeps of a hypothesis of a beam search.
#ifndef ATTNBENCH_MECHANISMS_BEAM_STATE_H_
#define ATTNBENCH_MECHANISMS_BEAM_STATE_H_

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace attnbench {

// Says where a hypothesis of a beam search stands: it holds all that its last
// output leaves to the next one, of a type that only the mechanism knows.
// Before the first output all bytes are zero. A hypothesis that is continued in
// two ways is copied.
class Hypothesis {
 public:
  template <class State>
  State Get() const {
    State state;
    std::memcpy(&state, BytesOf<State>(bytes_), sizeof(State));
    return state;
  }
  template <class State>
  void Set(const State& state) {
    std::memcpy(BytesOf<State>(bytes_), &state, sizeof(State));
  }

 private:
  template <class State>
  static auto* BytesOf(auto& bytes) {
    static_assert(std::is_trivially_copyable_v<State>);
    static_assert(sizeof(State) <= sizeof(bytes));
    return bytes.data();
  }

  std::array<std::byte, 128> bytes_ = {};
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_BEAM_STATE_H_
