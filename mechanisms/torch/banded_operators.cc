// Attention of monotonic and mocha on a band with a certificate
// (monotonic/banded_attention.h), for attnbench.torch.banded. `scores` are a
// table [B, H, U, T], or, with `keys` [B, H, T, d] and `v` [H, d], queries
// [B, H, U, d] of energies
//
//   e(i, j) = v . tanh(queries(i) + keys(j)) + r + noise z(i, j)
//
// with r [H], and z from Philox keyed by `seed`: these are evaluated on the
// band alone. The same holds for chunk_scores, which are given for mocha.
//
// No table is made: alpha [N] are the numbers at `alpha_entries` [N], int64,
// rising places in [B, H, U, T], and so are `attention` and `entries`, which
// are undefined where attention is alpha. banded_contexts.cc takes such.
// `mass_cut` [B, H, U] bounds the L1 error of each row, and has no gradient.
// `counts` [4] are the energies and chunk energies that were evaluated, where
// no output saw an entry any more, and whether the band of a sequence had more
// than `most_share` of its pairs: then there is nothing else.
//
// The gradient makes the band once more, so that nothing else has to be kept.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <tuple>
#include <vector>

#include "mechanisms/common/parallel.h"
#include "mechanisms/energy/additive_pairs.h"
#include "mechanisms/mocha/window_expectation.h"
#include "mechanisms/monotonic/banded_attention.h"
#include "mechanisms/torch/arguments.h"
#include "mechanisms/torch/operators.h"
#include "mechanisms/torch/options.h"
#include "mechanisms/torch/pool.h"
#include "mechanisms/torch/registration.h"
#include "mechanisms/training/noise.h"

namespace attnbench::torch_operators {
namespace {

using at::Tensor;
using OptionalRef = const OptionalTensor&;

// A table, or queries where there are keys. Undefined: there are none.
struct Scores {
  Tensor scores, keys, v, r;

  bool exist() const { return scores.defined(); }
  bool are_given() const { return !keys.defined(); }
};

// What a call reads.
struct Inputs {
  Scores choice, chunk;
  Tensor start;
  SequenceLengths lengths;
  bool probabilities = false;
  double noise = 0;
  std::uint64_t seed = 0;
  double bound = 0, most_share = 0;
  Config config;

  Index heads() const { return choice.scores.size(1); }
  Index count() const { return choice.scores.size(0) * heads(); }
  Index num_outputs() const { return choice.scores.size(2); }
  Index num_entries() const {
    return choice.are_given() ? choice.scores.size(3) : choice.keys.size(2);
  }
};

Tensor OrUndefined(OptionalRef tensor) { return tensor.value_or(Tensor()); }

template <class Real>
class TableSource final : public BandSource<Real> {
 public:
  TableSource(const MatrixView<const Real>& table, bool probabilities)
      : table_(table), probabilities_(probabilities) {}
  bool gives_probabilities() const override { return probabilities_; }
  void Evaluate(Index i, Index first, Index count, Real* scores) override {
    std::copy_n(table_.Row(i).begin() + first, count, scores);
  }

 private:
  const MatrixView<const Real> table_;
  const bool probabilities_;
};

template <class Real>
class AdditiveSource final : public BandSource<Real> {
 public:
  AdditiveSource(AdditivePairs<Real> pairs, Real r, double noise,
                 std::uint64_t seed, Index sequence)
      : pairs_(std::move(pairs)),
        r_(r),
        noise_(noise),
        seed_(seed),
        stream_(static_cast<std::uint32_t>(sequence)) {}
  void Evaluate(Index i, Index first, Index count, Real* scores) override {
    pairs_.Evaluate(i, first, count, scores);
    for (Index n = 0; n < count; ++n) {
      scores[n] += r_;
      if (noise_ == 0) continue;
      scores[n] += static_cast<Real>(
          noise_ * StandardNoise(seed_, stream_, i, first + n));
    }
  }

 private:
  const AdditivePairs<Real> pairs_;
  const Real r_;
  const double noise_;
  const std::uint64_t seed_;
  const std::uint32_t stream_;
};

struct Results {
  Tensor attention, entries, alpha, alpha_entries, mass_cut, counts;
};

template <class Real>
class Call {
 public:
  explicit Call(const Inputs& inputs)
      : inputs_(inputs),
        U_(inputs.num_outputs()),
        T_(inputs.num_entries()),
        bands_(Size(inputs.count())) {}

  Results Compute() {
    Results made;
    const at::TensorOptions options = inputs_.choice.scores.options();
    made.mass_cut = MakeResult(
        {inputs_.choice.scores.size(0), inputs_.heads(), U_}, options);
    made.mass_cut.zero_();
    std::array<std::int64_t, 4> counts = {0, 0, 0, MakeBands() ? 0 : 1};
    for (const auto& one : bands_) {
      const BandReport& report = one->report();
      counts[0] += static_cast<std::int64_t>(report.energies);
      counts[1] += static_cast<std::int64_t>(report.chunk_energies);
      counts[2] = std::max<std::int64_t>(counts[2], report.reach);
    }
    made.counts = at::tensor(counts);
    const bool dense = counts[3] != 0;
    if (!dense) {
      for (Index n = 0; n < inputs_.count(); ++n) {
        std::ranges::transform(
            bands_[Size(n)]->report().mass_cut,
            made.mass_cut.data_ptr<Real>() + n * U_,
            [](double cut) { return static_cast<Real>(cut); });
      }
    }
    std::tie(made.alpha, made.alpha_entries) =
        Join(dense, [](const BandedAttention<Real>& one) {
          return Part{one.band().rows, one.band().alpha};
        });
    if (inputs_.chunk.exist() && has_chunks_) {
      std::tie(made.attention, made.entries) =
          Join(dense, [](const BandedAttention<Real>& one) {
            return Part{one.rows(), one.attention()};
          });
    }
    return made;
  }

  // Writes dL/d scores, those of additive energies without the factor v, dL/dv
  // and dL/dr of each sequence, and dL/d start. All are zero before.
  void Gradient(const Tensor& d_attention, const Tensor& d_alpha,
                const Inputs& gradients) {
    ATTN_CHECK(MakeBands());
    std::vector<std::size_t> of_alpha(1), of_attention(1);
    for (const auto& one : bands_) {
      of_alpha.push_back(of_alpha.back() + one->band().alpha.size());
      of_attention.push_back(of_attention.back() + one->attention().size());
    }
    CheckCount(d_alpha, "d_alpha", of_alpha.back());
    if (has_chunks_)
      CheckCount(d_attention, "d_attention", of_attention.back());
    ParallelFor(inputs_.count(), at::get_num_threads(), [&](Index n) {
      BandedAttention<Real>& band = *bands_[Size(n)];
      const auto slice = [n](const Tensor& all,
                             const std::vector<std::size_t>& at) {
        if (!all.defined()) return std::span<const Real>();
        const auto begin = at[Size(n)];
        return std::span<const Real>(all.data_ptr<Real>() + begin,
                                     at[Size(n) + 1] - begin);
      };
      const std::span<const Real> given_alpha = slice(d_alpha, of_alpha);
      const std::span<const Real> given =
          has_chunks_ ? slice(d_attention, of_attention) : given_alpha;
      const Buffer<Real> zeros(given.empty() ? band.attention().size() : 0);
      const Index length = inputs_.lengths(n);
      band.Backward(given.empty() ? std::span<const Real>(zeros) : given,
                    has_chunks_ ? given_alpha : std::span<const Real>(),
                    RowOf(gradients.start, n, length));
      AddScores(n, inputs_.choice, band.band().rows, band.d_scores(),
                gradients.choice);
      if (has_chunks_) {
        AddScores(n, inputs_.chunk, band.rows(), band.d_chunk_energies(),
                  gradients.chunk);
      }
    });
  }

 private:
  struct Part {
    const BandRows& rows;
    std::span<const Real> values;
  };

  std::span<Real> RowOf(const Tensor& rows, Index n, Index length) const {
    if (!rows.defined()) return {};
    return {rows.data_ptr<Real>() + n * T_, Size(length)};
  }

  static void CheckCount(const Tensor& given, const char* argument,
                         std::size_t count) {
    TORCH_CHECK_VALUE(!given.defined() || Size(given.numel()) == count,
                      argument, " must have ", count,
                      " numbers, as the band has, but has ", given.numel());
  }

  // Finds all bands. False if one is too wide.
  bool MakeBands() {
    WrongNumbers wrong(inputs_.count());
    std::atomic<bool> fits = true;
    ParallelFor(inputs_.count(), at::get_num_threads(), [&](Index n) {
      auto& one = bands_[Size(n)];
      one = std::make_unique<BandedAttention<Real>>(
          inputs_.config,
          inputs_.chunk.exist() ? &mocha::MakeWindowExpectation<Real> : nullptr,
          inputs_.bound, inputs_.most_share);
      const Index length = inputs_.lengths(n);
      if (!Check(n, length, wrong)) return;
      if (!one->Choose(U_, length, RowOf(inputs_.start, n, length),
                       *Source(n, inputs_.choice))) {
        fits = false;
      } else if (one->has_chunks()) {
        one->Weigh(*Source(n, inputs_.chunk));
      }
    });
    wrong.Throw(inputs_.heads());
    has_chunks_ = !bands_.empty() && bands_[0]->has_chunks();
    return fits;
  }

  bool Check(Index n, Index length, WrongNumbers& wrong) const {
    const auto allows = [&](const Scores& scores, const char* name,
                            const char* keys, Numbers allowed) {
      if (!scores.exist()) return true;
      if (scores.are_given()) {
        return wrong.Allows<Real>(
            n, name, allowed, SequenceOf<Real>(scores.scores, n, U_, length));
      }
      const Index d = scores.scores.size(3);
      return wrong.Allows<Real>(n, name, Numbers::kAny,
                                SequenceOf<Real>(scores.scores, n, U_, d)) &&
             wrong.Allows<Real>(n, keys, Numbers::kAny,
                                SequenceOf<Real>(scores.keys, n, length, d));
    };
    return allows(inputs_.choice,
                  !inputs_.choice.are_given() ? "queries"
                  : inputs_.probabilities     ? "p"
                                              : "energies",
                  "keys",
                  inputs_.probabilities ? Numbers::kProbabilities
                                        : Numbers::kAny) &&
           allows(
               inputs_.chunk,
               inputs_.chunk.are_given() ? "chunk_energies" : "chunk_queries",
               "chunk_keys", Numbers::kFinite) &&
           wrong.AllowsRow<Real>(n, "start", Numbers::kNotNegative,
                                 RowOf(inputs_.start, n, length));
  }

  std::unique_ptr<BandSource<Real>> Source(Index n, const Scores& from) const {
    const Index length = inputs_.lengths(n);
    const bool is_choice = &from == &inputs_.choice;
    if (from.are_given()) {
      return std::make_unique<TableSource<Real>>(
          SequenceOf<Real>(from.scores, n, U_, length),
          is_choice && inputs_.probabilities);
    }
    const Index d = from.scores.size(3), h = n % inputs_.heads();
    const Real* const v = from.v.template data_ptr<Real>() + h * d;
    return std::make_unique<AdditiveSource<Real>>(
        AdditivePairs<Real>({v, Size(d)},
                            SequenceOf<Real>(from.scores, n, U_, d),
                            SequenceOf<Real>(from.keys, n, length, d)),
        from.r.defined() ? from.r.template data_ptr<Real>()[h] : Real{0},
        is_choice ? inputs_.noise : 0, inputs_.seed, n);
  }

  // Gives the numbers of all sequences, and their places.
  template <class PartOf>
  std::tuple<Tensor, Tensor> Join(bool dense, const PartOf& part_of) const {
    std::size_t count = 0;
    for (const auto& one : bands_) count += part_of(*one).values.size();
    const at::TensorOptions options = inputs_.choice.scores.options();
    const auto N = static_cast<std::int64_t>(dense ? 0 : count);
    Tensor values = MakeResult({N}, options);
    Tensor entries = MakeResult({N}, options.dtype(at::kLong));
    if (dense) return {values, entries};
    Real* value = values.data_ptr<Real>();
    auto* entry = entries.data_ptr<std::int64_t>();
    for (Index n = 0; n < inputs_.count(); ++n) {
      const Part part = part_of(*bands_[Size(n)]);
      value = std::ranges::copy(part.values, value).out;
      for (Index i = 0; i < part.rows.count(); ++i) {
        for (const BandSegment& of_row : part.rows.Row(i)) {
          for (Index j = of_row.begin; j < of_row.end; ++j) {
            *entry++ = (n * U_ + i) * T_ + j;
          }
        }
      }
    }
    return {values, entries};
  }

  void AddScores(Index n, const Scores& of, const BandRows& rows,
                 std::span<const Real> d_scores, const Scores& to) const {
    const Index length = inputs_.lengths(n);
    if (of.are_given()) {
      if (!to.exist()) return;
      return WriteTable<Real>(rows, d_scores,
                              SequenceOf<Real>(to.scores, n, U_, length));
    }
    const Index d = of.scores.size(3);
    UnsetBuffer<Real> table(Size(U_ * length)), keys(Size(length * d));
    const MatrixView<Real> G(table.data(), U_, length);
    WriteTable<Real>(rows, d_scores, G);
    const MatrixView<Real> copy(keys.data(), length, d);
    const auto from = SequenceOf<Real>(of.keys, n, length, d);
    for (Index j = 0; j < length; ++j) {
      std::ranges::copy(from.Row(j), copy.Row(j).begin());
    }
    AddAdditivePairs<Real>(SequenceOf<Real>(of.scores, n, U_, d), copy,
                           MatrixView<const Real>(G),
                           SequenceOf<Real>(to.scores, n, U_, d),
                           SequenceOf<Real>(to.keys, n, length, d),
                           to.v.template data_ptr<Real>() + n * d);
    if (!to.r.defined()) return;
    for (const Real x : d_scores) to.r.template data_ptr<Real>()[n] += x;
  }

  const Inputs& inputs_;
  const Index U_, T_;
  std::vector<std::unique_ptr<BandedAttention<Real>>> bands_;
  bool has_chunks_ = false;
};

// Gives scores in a form that can be computed with, or throws.
Scores ValidScores(const Tensor& scores, OptionalRef keys, OptionalRef v,
                   OptionalRef r, const char* name) {
  Scores valid;
  if (!keys.has_value() || !keys->defined()) {
    valid.scores = ValidTable(scores, name, "[B, H, U, T]");
    TORCH_CHECK_TYPE(!scores.is_meta(), name,
                     " has no numbers to find a band of: it is on meta");
    return valid;
  }
  valid.scores = ValidArray(scores, name, "[B, H, U, d]", 4);
  TORCH_CHECK_TYPE(!scores.is_meta(), name,
                   " has no numbers to find a band of: it is on meta");
  const auto sizes = valid.scores.sizes();
  valid.keys = ValidTable(*keys, "keys", "[B, H, T, d]");
  CheckFits(*keys, "keys", {sizes[0], sizes[1], -1, sizes[3]}, scores, name);
  valid.v = ValidArray(OrUndefined(v), "v", "[H, d]", 2);
  CheckFits(*v, "v", {sizes[1], sizes[3]}, scores, name);
  TORCH_CHECK_VALUE(!valid.v.isnan().any().item<bool>(),
                    "v must be numbers, but has a NaN");
  if (!r.has_value() || !r->defined()) return valid;
  valid.r = ValidArray(*r, "r", "[H]", 1);
  CheckFits(*r, "r", {sizes[1]}, scores, name);
  return valid;
}

Inputs ValidInputs(const Tensor& scores, bool probabilities, double bound,
                   double most_share, OptionalRef keys, OptionalRef v,
                   OptionalRef r, double noise, std::int64_t seed,
                   OptionalRef chunk_scores, OptionalRef chunk_keys,
                   OptionalRef chunk_v, std::int64_t width, OptionalRef lengths,
                   OptionalRef start, c10::string_view end) {
  TORCH_CHECK_VALUE(bound >= kLeastBound && bound <= 1, "bound must be from ",
                    kLeastBound, " to 1, but is ", bound);
  TORCH_CHECK_VALUE(most_share >= 0 && most_share <= 1,
                    "most_share must be from 0 to 1, but is ", most_share);
  TORCH_CHECK_VALUE(width >= 1 || width == kInfiniteLookback,
                    "width must be at least 1, or -1 for infinite lookback, "
                    "but is ",
                    width);
  const bool given = !keys.has_value() || !keys->defined();
  const char* const name = !given          ? "queries"
                           : probabilities ? "p"
                                           : "energies";
  TORCH_CHECK_VALUE(given || !probabilities, "p have no keys");
  Inputs inputs;
  inputs.choice = ValidScores(scores, keys, v, r, name);
  inputs.probabilities = probabilities;
  inputs.noise = noise;
  inputs.seed = static_cast<std::uint64_t>(seed);
  inputs.bound = bound;
  inputs.most_share = most_share;
  inputs.config.end = EndOf(end);
  TORCH_CHECK_VALUE(inputs.config.end != EndPolicy::kRestart,
                    "end must be absorb or stay_last: a restart depends on "
                    "what passes the last entry");
  inputs.config.options["chunk_width"] =
      width == kInfiniteLookback ? kInfiniteWidth : width;
  const auto sizes = scores.sizes();
  const Index T = inputs.num_entries();
  if (chunk_scores.has_value() && chunk_scores->defined()) {
    const bool table = !chunk_keys.has_value() || !chunk_keys->defined();
    const char* const chunk_name = table ? "chunk_energies" : "chunk_queries";
    inputs.chunk =
        ValidScores(*chunk_scores, chunk_keys, chunk_v, {}, chunk_name);
    CheckFits(*chunk_scores, chunk_name,
              {sizes[0], sizes[1], sizes[2], table ? T : -1}, scores, name);
    TORCH_CHECK_VALUE(table || inputs.chunk.keys.size(2) == T,
                      "chunk_keys must have ", T, " entries, but has ",
                      inputs.chunk.keys.size(2));
  }
  if (start.has_value() && start->defined()) {
    inputs.start = ValidArray(*start, "start", "[B, H, T]", 3);
    CheckFits(*start, "start", {sizes[0], sizes[1], T}, scores, name);
  }
  inputs.lengths = SequenceLengths(lengths, inputs.choice.scores, T);
  return inputs;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> Attention(
    const Tensor& scores, bool probabilities, double bound, double most_share,
    OptionalRef keys, OptionalRef v, OptionalRef r, double noise,
    std::int64_t seed, OptionalRef chunk_scores, OptionalRef chunk_keys,
    OptionalRef chunk_v, std::int64_t width, OptionalRef lengths,
    OptionalRef start, c10::string_view end) {
  const Inputs inputs = ValidInputs(
      scores, probabilities, bound, most_share, keys, v, r, noise, seed,
      chunk_scores, chunk_keys, chunk_v, width, lengths, start, end);
  Results made;
  AT_DISPATCH_FLOATING_TYPES(inputs.choice.scores.scalar_type(), "attnbench",
                             [&] { made = Call<scalar_t>(inputs).Compute(); });
  return {InTypeOf(scores, made.attention),
          made.entries,
          InTypeOf(scores, made.alpha),
          made.alpha_entries,
          made.mass_cut,
          made.counts};
}

// Of scores, keys, v, r, chunk_scores, chunk_keys, chunk_v and start. All are
// made at once.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>
AttentionGradient(OptionalRef d_attention, OptionalRef /*d_entries*/,
                  OptionalRef d_alpha, OptionalRef /*d_alpha_entries*/,
                  OptionalRef /*d_mass_cut*/, OptionalRef /*d_counts*/,
                  std::array<bool, 8> wanted, const Tensor& scores,
                  bool probabilities, double bound, double most_share,
                  OptionalRef keys, OptionalRef v, OptionalRef r, double noise,
                  std::int64_t seed, OptionalRef chunk_scores,
                  OptionalRef chunk_keys, OptionalRef chunk_v,
                  std::int64_t width, OptionalRef lengths, OptionalRef start,
                  c10::string_view end) {
  const Inputs inputs = ValidInputs(
      scores, probabilities, bound, most_share, keys, v, r, noise, seed,
      chunk_scores, chunk_keys, chunk_v, width, lengths, start, end);
  const auto take = [&](OptionalRef given, const char* name) {
    return given.has_value() && given->defined()
               ? ValidArray(*given, name, "[N]", 1)
               : Tensor();
  };
  const auto zeros = [](const Tensor& like) {
    return like.defined() ? MakeResultLike(like).zero_() : Tensor();
  };
  // Of each sequence; v and r are those of all.
  const auto zeros_of = [&](const Scores& of, bool is_wanted) {
    Scores made;
    if (of.are_given() && !is_wanted) return made;
    made = {zeros(of.scores), zeros(of.keys), {}, {}};
    const Index batch = scores.size(0);
    for (const auto& [from, to] : {std::pair{&of.v, &made.v}, {&of.r, &made.r}})
      if (from->defined()) {
        std::vector<std::int64_t> sizes = from->sizes().vec();
        sizes.insert(sizes.begin(), batch);
        *to = MakeResult(sizes, from->options()).zero_();
      }
    return made;
  };
  Inputs gradients;
  gradients.choice = zeros_of(inputs.choice, wanted[0]);
  if (inputs.chunk.exist()) {
    gradients.chunk = zeros_of(inputs.chunk, wanted[4]);
  }
  if (wanted[7]) gradients.start = zeros(inputs.start);
  const Tensor attention = take(d_attention, "d_attention");
  const Tensor alpha = take(d_alpha, "d_alpha");
  AT_DISPATCH_FLOATING_TYPES(
      inputs.choice.scores.scalar_type(), "attnbench",
      [&] { Call<scalar_t>(inputs).Gradient(attention, alpha, gradients); });
  const auto finished = [&](const Scores& of, Scores made) {
    if (of.keys.defined()) {
      const Tensor factor = of.v.unsqueeze(1);  // [H, 1, d]
      made.scores.mul_(factor);
      made.keys.mul_(factor);
      made.v = made.v.sum(0);
      if (made.r.defined()) made.r = made.r.sum(0);
    }
    for (Tensor* one : {&made.scores, &made.keys, &made.v, &made.r}) {
      *one = InTypeOf(scores, *one);
    }
    return made;
  };
  const Scores choice = finished(inputs.choice, gradients.choice);
  const Scores chunk = finished(inputs.chunk, gradients.chunk);
  return {
      choice.scores, choice.keys, choice.v, choice.r,
      chunk.scores,  chunk.keys,  chunk.v,  InTypeOf(scores, gradients.start)};
}

TORCH_LIBRARY_FRAGMENT(attnbench, library) {
  Define(
      library,
      {.name = "banded_attention",
       .arguments =
           "Tensor scores, bool probabilities, float bound, float most_share,"
           " Tensor? keys=None, Tensor? v=None, Tensor? r=None,"
           " float noise=0., int seed=0, Tensor? chunk_scores=None,"
           " Tensor? chunk_keys=None, Tensor? chunk_v=None, int width=1,"
           " Tensor? lengths=None, Tensor? start=None, str end=\"absorb\"",
       .results = "(Tensor attention, Tensor entries, Tensor alpha,"
                  " Tensor alpha_entries, Tensor mass_cut, Tensor counts)",
       .cotangents = "Tensor? d_attention, Tensor? d_entries,"
                     " Tensor? d_alpha, Tensor? d_alpha_entries,"
                     " Tensor? d_mass_cut, Tensor? d_counts,"
                     " bool[8] output_mask",
       .gradients = "(Tensor scores, Tensor keys, Tensor v, Tensor r,"
                    " Tensor chunk_scores, Tensor chunk_keys,"
                    " Tensor chunk_v, Tensor start)"},
      &Attention, &AttentionGradient);
}

}  // namespace
}  // namespace attnbench::torch_operators
