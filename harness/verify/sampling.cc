#include "harness/verify/sampling.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace attnbench {
namespace {

// The error of differences, such as 1 less a sum of probabilities.
constexpr double kSubtractionRounding = 1e-14;

struct Range {
  double low = 0;
  double high = 0;

  // Widens the range so that it holds `value` too.
  void Include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void Add(const Range& other) {
    low += other.low;
    high += other.high;
  }
};

std::size_t At(const Table<double>& shape, Index row, Index column) {
  return Size(row * shape.cols + column);
}

// What attention of 1 to entry j would make output i add to L.
double LossOfEntry(const VerifyInputs& inputs, Index i, Index j) {
  double loss = inputs.cotangent_attention()(i, j);
  const Table<double>& cotangent = inputs.cotangent_contexts();
  for (Index k = 0; k < cotangent.cols; ++k) {
    loss += cotangent(i, k) * inputs.At("memory")(j, k);
  }
  return loss;
}

// Each kind of quantity has an Add for one trial and a Compare.
//
// How often an entry was chosen, and pairs of entries by outputs one after the
// other.
class CountSums {
 public:
  CountSums(VerifySubject& subject, const Trained& trained, std::int64_t trials)
      : subject_(subject),
        trained_(trained),
        trials_(trials),
        U_(subject.U()),
        T_(subject.T()),
        // Only the mechanism may know the probabilities; then there are no
        // pairs.
        with_pairs_(subject.knows_probabilities() && T_ <= kMostEntriesOfPairs),
        chosen_(Size(U_ * (T_ + 1))),
        pairs_(with_pairs_ ? Size(U_ * (T_ + 1) * (T_ + 1)) : 0) {}

  void Add(const Decoded& decoded) {
    Index previous = 0;
    for (Index i = 0; i < U_; ++i) {
      const Index j = Column(decoded.steps[Size(i)]);
      ++chosen_[Size(i * (T_ + 1) + j)];
      if (with_pairs_ && i > 0) ++pairs_[Pair(i, previous, j)];
      previous = j;
    }
  }

  ChiSquare Compare(std::vector<Quantity>& quantities) const {
    const ChiSquare chi_square = CompareCounts(quantities);
    if (with_pairs_ && U_ > 1) ComparePairs(quantities);
    return chi_square;
  }

 private:
  std::int64_t Chosen(Index i, Index j) const {
    return chosen_[Size(i * (T_ + 1) + j)];
  }
  std::size_t Pair(Index i, Index k, Index l) const {
    return Size((i * (T_ + 1) + k) * (T_ + 1) + l);
  }

  // No choice counts as entry T.
  Index Column(const StepTrace& step) const {
    return step.position >= 0 ? step.position : T_;
  }

  // Compares an outcome whose expectation is 1 less the others'.
  void CompareRest(ArrayNumber at, std::int64_t hits, bool is_impossible,
                   Quantity& quantity) const {
    // An impossible outcome is expected exactly 0 times, so a single hit is
    // wrong.
    const bool is_zero =
        is_impossible && std::abs(at.expected) <= kSubtractionRounding;
    if (is_zero) at.expected = 0;
    quantity.CompareCount(at, hits, is_zero ? 0 : kSubtractionRounding);
  }

  ChiSquare CompareCounts(std::vector<Quantity>& quantities) const {
    ChiSquare chi_square;
    Quantity quantity = Quantity::Sampled("selection", trials_);
    for (Index i = 0; i < U_; ++i) {
      double none = 1;
      for (Index j = 0; j < T_; ++j) {
        const double expected = trained_.selection(i, j);
        none -= expected;
        quantity.CompareCount({.row = i, .column = j, .expected = expected},
                              Chosen(i, j));
        chi_square.Add(trials_, Chosen(i, j), expected);
      }
      CompareRest({.row = i, .column = kNoEntry, .expected = none},
                  Chosen(i, T_), subject_.none_is_impossible(), quantity);
      chi_square.Add(trials_, Chosen(i, T_), none);
    }
    quantities.push_back(std::move(quantity));
    return chi_square;
  }

  // P(t(i) = l | t(i-1) = k) [T] for one i and k, from two outputs of which the
  // first must choose k.
  std::vector<double> After(Index i, Index k) const {
    Table<double> p(2, T_);
    p.view()(0, k) = 1;
    std::ranges::copy(subject_.p().view().Row(i), p.view().Row(1).begin());
    return subject_.SelectionOfSecond(p);
  }

  void ComparePairs(std::vector<Quantity>& quantities) const {
    Quantity quantity = Quantity::Sampled("pairs of choices", trials_);
    const bool no_none = subject_.none_is_impossible();
    const bool no_choice_after_none =
        no_none || subject_.choice_after_none_is_impossible();
    for (Index i = 1; i < U_; ++i) {
      // The rest of the choices of i is for those that follow no choice.
      const std::span<const double> row = trained_.selection.view().Row(i);
      std::vector<double> rest(row.begin(), row.end());
      double none = 1;
      for (Index k = 0; k < T_; ++k) {
        const double at_k = trained_.selection(i - 1, k);
        none -= at_k;
        double left = at_k;
        const std::vector<double> after = After(i, k);
        for (Index l = 0; l < T_; ++l) {
          const double expected = at_k * after[Size(l)];
          left -= expected;
          rest[Size(l)] -= expected;
          quantity.CompareCount({i, l, k, expected}, pairs_[Pair(i, k, l)]);
        }
        CompareRest({i, kNoEntry, k, left}, pairs_[Pair(i, k, T_)], no_none,
                    quantity);
      }
      for (Index l = 0; l < T_; ++l) {
        none -= rest[Size(l)];
        CompareRest({i, l, kNoEntry, rest[Size(l)]}, pairs_[Pair(i, T_, l)],
                    no_choice_after_none, quantity);
      }
      CompareRest({i, kNoEntry, kNoEntry, none}, pairs_[Pair(i, T_, T_)],
                  no_none, quantity);
    }
    quantities.push_back(std::move(quantity));
  }

  VerifySubject& subject_;
  const Trained& trained_;
  const std::int64_t trials_;
  const Index U_, T_;
  const bool with_pairs_;
  std::vector<std::int64_t> chosen_;  // [U, T + 1]
  std::vector<std::int64_t> pairs_;   // [U, T + 1, T + 1]
};

// Attention and contexts.
class MeanSums {
 public:
  MeanSums(VerifySubject& subject, std::int64_t trials)
      : subject_(subject),
        trials_(trials),
        U_(subject.U()),
        T_(subject.T()),
        d_(subject.d()),
        attention_(Size(U_ * T_)),
        contexts_(Size(U_ * d_)) {}

  void Add(const Decoded& decoded) {
    for (Index i = 0; i < U_; ++i) {
      const StepTrace& step = decoded.steps[Size(i)];
      for (Index j = step.begin; j < step.end; ++j) {
        attention_.Add(Size(i * T_ + j), decoded.attention(i, j));
      }
      for (Index k = 0; k < d_; ++k) {
        contexts_.Add(Size(i * d_ + k), decoded.contexts(i, k));
      }
    }
  }

  void Compare(const Trained& trained,
               std::vector<Quantity>& quantities) const {
    Quantity attention = Quantity::Sampled("attention", trials_);
    for (Index i = 0; i < U_; ++i) {
      for (Index j = 0; j < T_; ++j) {
        attention.CompareMean(
            i, j, trained.attention(i, j),
            SummarizeSamples(attention_, Size(i * T_ + j), trials_, 0, 1));
      }
    }
    quantities.push_back(std::move(attention));
    Quantity contexts = Quantity::Sampled("context", trials_);
    for (Index k = 0; k < d_; ++k) {
      // A context is a sum of entries with weights that add up to at most 1.
      Range range;
      for (Index j = 0; j < T_; ++j) {
        range.Include(subject_.inputs().At("memory")(j, k));
      }
      for (Index i = 0; i < U_; ++i) {
        contexts.CompareMean(i, k, trained.contexts(i, k),
                             SummarizeSamples(contexts_, Size(i * d_ + k),
                                              trials_, range.low, range.high));
      }
    }
    quantities.push_back(std::move(contexts));
  }

 private:
  VerifySubject& subject_;
  const std::int64_t trials_;
  const Index U_, T_, d_;
  SampleSums attention_, contexts_;
};

// The gradients of the choice's energies and of the memory.
class GradientSums {
 public:
  GradientSums(VerifySubject& subject, std::int64_t trials)
      : subject_(subject),
        trials_(trials),
        U_(subject.U()),
        T_(subject.T()),
        d_(subject.d()),
        d_choice_(Size(U_ * T_)),
        d_memory_(Size(T_ * d_)),
        losses_(Size(U_ + 1)),
        d_memory_of_trial_(T_, d_) {}

  void Add(const Decoded& decoded) {
    AddGradientOfChoices(decoded);
    AddGradientOfMemory(decoded);
  }

  void Compare(const Trained& trained,
               std::vector<Quantity>& quantities) const {
    const std::string& choice = subject_.choice_name();
    CompareGradientOfChoices(trained.gradients.at(choice), choice == "p_choose",
                             quantities);
    CompareGradientOfMemory(trained.gradients.at("memory"), quantities);
  }

 private:
  // d E[L] / d e(i, j) = E[L (z(i, j) - p(i, j))], z - p = 0 where (i, j) was
  // not inspected. Outputs before i are left out of L: given what happened
  // before, z - p has mean zero.
  void AddGradientOfChoices(const Decoded& decoded) {
    losses_[Size(U_)] = 0;
    for (Index i = U_; i-- > 0;) {
      losses_[Size(i)] = losses_[Size(i + 1)] + subject_.Loss(decoded, i);
    }
    Index start = 0;
    for (Index i = 0; i < U_; ++i) {
      const StepTrace& step = decoded.steps[Size(i)];
      for (Index j = start; j < start + step.inspected; ++j) {
        const double score = j == step.position ? subject_.complement()(i, j)
                                                : -subject_.p()(i, j);
        d_choice_.Add(Size(i * T_ + j), losses_[Size(i)] * score);
      }
      if (step.position >= 0) start = step.position;
    }
  }

  void AddGradientOfMemory(const Decoded& decoded) {
    std::vector<double>& sums = d_memory_of_trial_.values;
    std::fill(sums.begin(), sums.end(), 0.0);
    const Table<double>& cotangent = subject_.inputs().cotangent_contexts();
    for (Index i = 0; i < U_; ++i) {
      const StepTrace& step = decoded.steps[Size(i)];
      for (Index j = step.begin; j < step.end; ++j) {
        for (Index k = 0; k < d_; ++k) {
          sums[Size(j * d_ + k)] += decoded.attention(i, j) * cotangent(i, k);
        }
      }
    }
    for (std::size_t n = 0; n < sums.size(); ++n) {
      if (sums[n] != 0) d_memory_.Add(n, sums[n]);
    }
  }

  void CompareGradientOfChoices(const Table<double>& gradient, bool of_p,
                                std::vector<Quantity>& quantities) const {
    Quantity d_choice =
        Quantity::Sampled("gradient of the choice's energies", trials_);
    Range loss;
    for (Index i = U_; i-- > 0;) {
      Range of_output;  // what the output can add to L
      for (Index j = 0; j < T_; ++j) {
        of_output.Include(LossOfEntry(subject_.inputs(), i, j));
      }
      loss.Add(of_output);
      for (Index j = 0; j < T_; ++j) {
        const double p = subject_.p()(i, j);
        const double not_p = subject_.complement()(i, j);
        Range range;
        for (const double of_loss : {loss.low, loss.high}) {
          range.Include(of_loss * not_p);
          range.Include(-of_loss * p);
        }
        // de = p (1 - p) dp
        const double expected = gradient(i, j) * (of_p ? p * not_p : 1);
        d_choice.CompareMean(i, j, expected,
                             SummarizeSamples(d_choice_, At(gradient, i, j),
                                              trials_, range.low, range.high));
      }
    }
    quantities.push_back(std::move(d_choice));
  }

  void CompareGradientOfMemory(const Table<double>& gradient,
                               std::vector<Quantity>& quantities) const {
    Quantity d_memory = Quantity::Sampled("gradient of memory", trials_);
    for (Index k = 0; k < d_; ++k) {
      Range range;  // starts with 0, as weights are in [0, 1]
      for (Index i = 0; i < U_; ++i) {
        const double weight = subject_.inputs().cotangent_contexts()(i, k);
        range.Add({std::min(0.0, weight), std::max(0.0, weight)});
      }
      for (Index j = 0; j < T_; ++j) {
        d_memory.CompareMean(j, k, gradient(j, k),
                             SummarizeSamples(d_memory_, At(gradient, j, k),
                                              trials_, range.low, range.high));
      }
    }
    quantities.push_back(std::move(d_memory));
  }

  VerifySubject& subject_;
  const std::int64_t trials_;
  const Index U_, T_, d_;
  SampleSums d_choice_, d_memory_;
  std::vector<double> losses_;  // L of outputs i .. U
  Table<double> d_memory_of_trial_;
};

// The gradient of the chunk energies: the mean over trials of central
// differences, in which the same trial is decoded again. Choices do not depend
// on chunk energies, and output i depends only on their row i, so a column is
// moved at once. This takes 2 T decodings a trial.
class ChunkDifferences {
 public:
  ChunkDifferences(VerifySubject& subject, std::int64_t trials)
      : subject_(subject),
        trials_(trials),
        above_(subject.MakeDecoded()),
        below_(subject.MakeDecoded()),
        sums_(Size(subject.U() * subject.T())) {}

  void Add(std::uint32_t trial) {
    Table<double>& u = subject_.inputs().arrays().at("chunk_energies");
    const Table<double> kept = u;
    for (Index j = 0; j < u.cols; ++j) {
      const auto decode = [&](double step, Decoded& decoded) {
        for (Index i = 0; i < u.rows; ++i) u.view()(i, j) = kept(i, j) + step;
        subject_.Sample(trial, decoded);
      };
      decode(kDifferenceStep, above_);
      decode(-kDifferenceStep, below_);
      for (Index i = 0; i < u.rows; ++i) {
        const double difference =
            subject_.Loss(above_, i) - subject_.Loss(below_, i);
        sums_.Add(At(u, i, j), difference / (2 * kDifferenceStep));
        u.view()(i, j) = kept(i, j);
      }
    }
  }

  // The derivative, by one energy, of a mean of numbers c with softmax weights
  // is the covariance of c with an indicator: at most a quarter of the range of
  // c.
  void Compare(const Table<double>& gradient,
               std::vector<Quantity>& quantities) const {
    Quantity quantity =
        Quantity::Sampled("gradient of chunk_energies", trials_);
    for (Index i = 0; i < gradient.rows; ++i) {
      const double range = RangeOfWeights(i) / 4 + kDifferenceTolerance;
      for (Index j = 0; j < gradient.cols; ++j) {
        quantity.CompareMean(i, j, gradient(i, j),
                             SummarizeSamples(sums_, At(gradient, i, j),
                                              trials_, -range, range));
      }
    }
    quantities.push_back(std::move(quantity));
  }

 private:
  // The range of the numbers whose mean output i adds to L.
  double RangeOfWeights(Index i) const {
    double low = 0;
    double high = 0;
    for (Index j = 0; j < subject_.T(); ++j) {
      const double c = LossOfEntry(subject_.inputs(), i, j);
      low = j == 0 ? c : std::min(low, c);
      high = j == 0 ? c : std::max(high, c);
    }
    return high - low;
  }

  VerifySubject& subject_;
  const std::int64_t trials_;
  Decoded above_;
  Decoded below_;
  SampleSums sums_;
};

}  // namespace

ChiSquare CompareWithTrials(VerifySubject& subject, const Trained& trained,
                            std::int64_t trials,
                            std::vector<Quantity>& quantities) {
  CountSums counts(subject, trained, trials);
  MeanSums means(subject, trials);
  std::optional<GradientSums> gradients;
  if (subject.knows_probabilities() && !trained.gradients.empty()) {
    gradients.emplace(subject, trials);
  }
  Decoded decoded = subject.MakeDecoded();
  for (std::int64_t trial = 0; trial < trials; ++trial) {
    subject.Sample(static_cast<std::uint32_t>(trial), decoded);
    counts.Add(decoded);
    means.Add(decoded);
    if (gradients) gradients->Add(decoded);
  }
  const ChiSquare chi_square = counts.Compare(quantities);
  means.Compare(trained, quantities);
  if (gradients) gradients->Compare(trained, quantities);
  if (!trained.gradients.contains("chunk_energies")) return chi_square;
  // The differences take twice the work of the trials themselves.
  const std::int64_t differences =
      std::max<std::int64_t>(2, trials / subject.T());
  ChunkDifferences chunks(subject, differences);
  for (std::int64_t trial = 0; trial < differences; ++trial) {
    chunks.Add(static_cast<std::uint32_t>(trial));
  }
  chunks.Compare(trained.gradients.at("chunk_energies"), quantities);
  return chi_square;
}

}  // namespace attnbench
