#include "harness/gap/lattice.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace attnbench {
namespace {

using Vector = std::vector<double>;

class LatticeMaker {
 public:
  LatticeMaker(const ClosedLoop& loop, Lattice& lattice)
      : loop_(loop),
        lattice_(lattice),
        processes_(loop),
        T_(loop.memory().rows),
        none_(Size(loop.memory().cols)),
        state_(Size(loop.state_size())),
        p_(Size(loop.vocabulary())),
        energies_(Size(T_)),
        start_(Size(T_)),
        last_(Size(T_ + 1)) {
    loop.FirstState(state_);
    last_[0] = {1, state_};  // the first scan begins at the first entry
  }

  void AddOutput(Index i) {
    next_.assign(last_.size(), {0, Vector(state_.size())});
    for (Index k = 0; k <= T_; ++k) {
      if (last_[Size(k)].mass > 0) Spread(i, k);
    }
    lattice_.kept_mass = 0;
    for (Index l = 0; l <= T_; ++l) {
      const double mass = next_[Size(l)].mass;
      lattice_.marginals.entries.view()(i, l) = mass;
      lattice_.kept_mass += mass;
    }
    std::swap(last_, next_);
  }

  // Gives up all but the states with the most mass, of equal ones the first.
  void Keep(Index states) {
    if (states > T_) return;
    std::vector<Index> by_mass(last_.size());
    std::iota(by_mass.begin(), by_mass.end(), 0);
    std::ranges::stable_sort(by_mass, std::greater(),
                             [&](Index k) { return last_[Size(k)].mass; });
    for (const Index k : std::span(by_mass).subspan(Size(states))) {
      last_[Size(k)].mass = 0;
    }
  }

 private:
  struct State {
    double mass = 0;
    Vector sum;  // of mass times state
  };

  std::span<const double> Context(Index j) const {
    if (j == T_) return none_;
    return loop_.memory().Row(j);
  }

  // Moves the mass of the paths whose last choice is entry k; T: none.
  void Spread(Index i, Index k) {
    const State& from = last_[Size(k)];
    for (std::size_t n = 0; n < state_.size(); ++n) {
      state_[n] = from.sum[n] / from.mass;
    }
    loop_.Advance(i, i == 0 ? none_ : Context(k), state_);
    Vector arriving(Size(T_ + 1));
    if (k < T_) {
      loop_.Energies(state_, energies_);
      start_[Size(k)] = from.mass;
      processes_.Select(start_, energies_, std::span(arriving).first(Size(T_)));
      start_[Size(k)] = 0;
    }
    arriving.back() = std::max(
        0.0,
        from.mass - std::accumulate(arriving.begin(), arriving.end(), 0.0));
    for (Index l = 0; l <= T_; ++l) {
      if (arriving[Size(l)] > 0) Arrive(i, l, arriving[Size(l)]);
    }
  }

  void Arrive(Index i, Index l, double mass) {
    loop_.Probabilities(state_, Context(l), p_);
    const std::span<double> outputs = lattice_.marginals.outputs.view().Row(i);
    for (std::size_t y = 0; y < p_.size(); ++y) outputs[y] += mass * p_[y];
    State& to = next_[Size(l)];
    to.mass += mass;
    for (std::size_t n = 0; n < state_.size(); ++n) {
      to.sum[n] += mass * state_[n];
    }
  }

  const ClosedLoop& loop_;
  Lattice& lattice_;
  const Processes processes_;
  const Index T_;
  const Vector none_;
  Vector state_, p_, energies_, start_;
  std::vector<State> last_, next_;  // [T + 1], by the entry chosen; T: none
};

}  // namespace

Lattice MakeLattice(const ClosedLoop& loop, Index states) {
  Lattice lattice{.marginals = Marginals(loop)};
  LatticeMaker maker(loop, lattice);
  for (Index i = 0; i < loop.num_outputs(); ++i) {
    if (i > 0) maker.Keep(states);
    maker.AddOutput(i);
  }
  return lattice;
}

}  // namespace attnbench
