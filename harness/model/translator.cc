#include "harness/model/translator.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "mechanisms/follow.h"

namespace attnbench {
namespace {

struct Candidate {
  double log_probability = 0;
  Index parent = 0;
  Symbol symbol = 0;
};

// Keeps the best so far, best first. Candidates are offered in the order in
// which equal ones are to stand.
class BestCandidates {
 public:
  explicit BestCandidates(Index most) : most_(Size(most)) {}

  double least() const {
    return all_.size() < most_ ? -std::numeric_limits<double>::infinity()
                               : all_.back().log_probability;
  }
  void Offer(const Candidate& candidate) {
    if (!(candidate.log_probability > least()) && all_.size() == most_) return;
    if (all_.size() == most_) all_.pop_back();
    const auto place =
        std::ranges::upper_bound(all_, candidate.log_probability,
                                 std::greater<>(), &Candidate::log_probability);
    all_.insert(place, candidate);
  }
  const std::vector<Candidate>& all() const { return all_; }

 private:
  const std::size_t most_;
  std::vector<Candidate> all_;
};

constexpr Index kBlock = 64;  // logits that are passed over together

// Offers every symbol of a row whose log-probability is logit + offset.
template <class Real>
void OfferRow(const Kernels<Real>& kernels, std::span<const Real> logits,
              double offset, Index parent, BestCandidates& best) {
  const auto count = static_cast<Index>(logits.size());
  for (Index first = 0; first < count; first += kBlock) {
    const Index size = std::min(kBlock, count - first);
    const Real largest = kernels.largest(&logits[Size(first)], size);
    if (offset + static_cast<double>(largest) <= best.least()) continue;
    for (Index v = first; v < first + size; ++v) {
      best.Offer({offset + static_cast<double>(logits[Size(v)]), parent,
                  static_cast<Symbol>(v)});
    }
  }
}

}  // namespace

template <class Real>
Translator<Real>::Translator(const ModelWeights<Real>& weights,
                             const ModelSizes& sizes,
                             const Mechanism<Real>* mechanism,
                             const Config& config,
                             const SequenceInputs<Real>& inputs)
    : kernels_(BestKernels<Real>()),
      encoder_(weights, sizes),
      model_(weights, sizes),
      scratch_(Size(sizes.vocabulary)) {
  ATTN_CHECK_EQ(weights.has_attention(), mechanism != nullptr);
  if (mechanism != nullptr) attention_.emplace(*mechanism, config, inputs);
}

template <class Real>
template <class Choose>
void Translator<Real>::Run(const TranslationTask& task, bool alone,
                           const Choose& choose) {
  encoded_ = given_ != nullptr ? *given_ : encoder_.Encode(task.source);
  model_.Start(encoded_);
  if (attention_) attention_->Start(encoded_.memory, alone, task.captured);
  symbols_.assign(1, kStartSymbol);
  parents_.assign(1, 0);
  for (Index i = 0; i < task.num_steps; ++i) {
    Attend(model_.Advance(symbols_, parents_));
    const MatrixView<Real> logits = model_.Logits();
    for (Index r = 0; r < logits.rows && !task.favoured.empty(); ++r) {
      logits(r, task.favoured[Size(i)]) += static_cast<Real>(task.favour);
    }
    choose(i, MatrixView<const Real>(logits));
  }
}

template <class Real>
void Translator<Real>::Attend(const MatrixView<const Real>& states) {
  if (!attention_) return;
  if (observer_) observer_(parents_, states);
  attention_->Step(states, parents_, model_.contexts());
}

template <class Real>
std::vector<Index> Translator<Real>::Positions(Index row) const {
  std::vector<Index> positions;
  if (!attention_) return positions;
  ForEachHead(attention_->results()[Size(row)],
              [&](const StepResult<Real>& head) {
                positions.push_back(FollowedPosition(head));
              });
  return positions;
}

template <class Real>
double Translator<Real>::LogSum(std::span<const Real> row) {
  const auto count = static_cast<Index>(row.size());
  const Real largest = kernels_.largest(row.data(), count);
  const Real sum =
      kernels_.exp_sum(row.data(), largest, count, scratch_.data());
  return static_cast<double>(largest) + std::log(static_cast<double>(sum));
}

template <class Real>
std::vector<Symbol> Translator<Real>::Greedy(const TranslationTask& task) {
  std::vector<Symbol> output;
  Run(task, /*alone=*/true, [&](Index, const MatrixView<const Real>& logits) {
    const std::span<const Real> row = logits.Row(0);
    const Real largest = kernels_.largest(row.data(), logits.cols);
    symbols_[0] =
        static_cast<Symbol>(std::ranges::find(row, largest) - row.begin());
    output.push_back(symbols_[0]);
  });
  return output;
}

template <class Real>
std::vector<Translation> Translator<Real>::BeamSearch(
    const TranslationTask& task, Index beam) {
  struct Step {
    std::vector<Candidate> chosen;
    std::vector<std::vector<Index>> positions;  // of the rows they continue
  };
  std::vector<Step> steps;
  std::vector<double> sums = {0};
  Run(task, /*alone=*/false, [&](Index, const MatrixView<const Real>& logits) {
    BestCandidates best(beam);
    Step step;
    for (Index r = 0; r < logits.rows; ++r) {
      const std::span<const Real> row = logits.Row(r);
      OfferRow(kernels_, row, sums[Size(r)] - LogSum(row), r, best);
      step.positions.push_back(Positions(r));
    }
    step.chosen = best.all();
    sums.clear();
    symbols_.clear();
    parents_.clear();
    for (const Candidate& candidate : step.chosen) {
      sums.push_back(candidate.log_probability);
      symbols_.push_back(candidate.symbol);
      parents_.push_back(candidate.parent);
    }
    steps.push_back(std::move(step));
  });
  std::vector<Translation> found;
  for (std::size_t last = 0; last < sums.size(); ++last) {
    Translation translation{.symbols = std::vector<Symbol>(steps.size()),
                            .log_probability = sums[last],
                            .positions = {}};
    std::size_t row = last;
    for (std::size_t i = steps.size(); i-- > 0;) {
      const Candidate& candidate = steps[i].chosen[row];
      row = Size(candidate.parent);
      translation.symbols[i] = candidate.symbol;
      const std::vector<Index>& heads = steps[i].positions[row];
      translation.positions.insert(translation.positions.end(), heads.rbegin(),
                                   heads.rend());
    }
    std::ranges::reverse(translation.positions);
    found.push_back(std::move(translation));
  }
  return found;
}

template <class Real>
Translation Translator<Real>::Force(const TranslationTask& task,
                                    std::span<const Symbol> symbols) {
  ATTN_CHECK_EQ(static_cast<Index>(symbols.size()), task.num_steps);
  Translation translation{.symbols = {symbols.begin(), symbols.end()},
                          .positions = {}};
  Run(task, /*alone=*/true, [&](Index i, const MatrixView<const Real>& logits) {
    const std::span<const Real> row = logits.Row(0);
    symbols_[0] = symbols[Size(i)];
    translation.log_probability +=
        static_cast<double>(row[Size(symbols_[0])]) - LogSum(row);
    std::ranges::copy(Positions(0), std::back_inserter(translation.positions));
  });
  return translation;
}

template class Translator<float>;
template class Translator<double>;

}  // namespace attnbench
