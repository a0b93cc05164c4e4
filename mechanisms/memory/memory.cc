#include "mechanisms/memory/memory.h"

#include <algorithm>

#include "mechanisms/common/eigen_views.h"
#include "mechanisms/common/joined_rows.h"
#include "mechanisms/description.h"
#include "mechanisms/kernels/kernels.h"
#include "mechanisms/memory/memory_training.h"
#include "mechanisms/memory/position_encoding.h"
#include "mechanisms/memory/scoring.h"

namespace attnbench::memory {
namespace {

template <class Real>
class MemoryDecoder final : public Decoder<Real> {
 public:
  MemoryDecoder(const Config& config, const SequenceInputs<Real>& inputs)
      : kernels_(BestKernels<Real>()),
        dim_(config.dim),
        num_contexts_(NumContexts(config)),
        want_weights_(config.want_weights),
        given_(FindGiven(inputs, NumContexts(config))),
        score_encoder_(config.Option<std::string>("encoder_scoring")),
        score_decoder_(config.Option<std::string>("decoder_scoring")),
        encoding_(config),
        contexts_(Size(NumContexts(config) * config.dim)),
        block_(Size(kBlock * NumContexts(config))),
        scores_(Size(NumContexts(config))) {
    if (given_) return;
    encoder_ =
        inputs.parameters->Matrix(kEncoderParameter, num_contexts_, dim_);
    decoder_ =
        inputs.parameters->Matrix(kDecoderParameter, num_contexts_, dim_);
  }

  // Position encodings need T, so with them the work waits for Close.
  void Append(const MatrixView<const Real>& rows) override {
    const Index first = memory_.all().rows;
    memory_.Append(rows);
    if (!encoding_.on()) Encode(first, memory_.all().rows);
  }
  void Close() override {
    encoding_.SetLength(memory_.all().rows);
    if (encoding_.on()) Encode(0, memory_.all().rows);
    closed_ = true;
  }

  StepResult<Real> Step(std::span<const Real> state,
                        std::span<Real> context) override {
    if (!closed_) return {.need_memory = true};
    if (!given_) {
      kernels_.dot_rows(state.data(), decoder_.data, dim_, num_contexts_, dim_,
                        scores_.data());
    } else {
      std::ranges::copy(given_->decoder.Row(output_), scores_.begin());
    }
    ++output_;
    score_decoder_(num_contexts_, scores_.data(), scores_.data());
    std::fill(context.begin(), context.end(), Real{0});
    kernels_.add_rows(scores_.data(), contexts_.data(), dim_, num_contexts_,
                      dim_, context.data());
    StepResult<Real> result{.end = memory_.all().rows};
    if (want_weights_) result.weights = MakeWeights();
    return result;
  }

  // The scores of all hypotheses are one matrix product, and so are their
  // contexts.
  void StepBeam(std::span<const Real> states, std::span<Hypothesis> hypotheses,
                std::span<Real> contexts,
                std::span<StepResult<Real>> results) override {
    ATTN_CHECK(closed_);
    const auto count = static_cast<Index>(hypotheses.size());
    beam_scores_.resize(Size(count * num_contexts_));
    const MatrixView<Real> scores(beam_scores_.data(), count, num_contexts_);
    if (!given_) {
      Map(scores).noalias() =
          Map(MatrixView<const Real>(states.data(), count, dim_)) *
          Map(decoder_).transpose();
    }
    for (Index n = 0; n < count; ++n) {
      const auto output = hypotheses[Size(n)].template Get<Index>();
      if (given_) {
        std::ranges::copy(given_->decoder.Row(output), scores.Row(n).begin());
      }
      score_decoder_(num_contexts_, scores.Row(n).data(), scores.Row(n).data());
      hypotheses[Size(n)].Set(output + 1);
    }
    std::ranges::fill(results, StepResult<Real>{.end = memory_.all().rows});
    Map(MatrixView<Real>(contexts.data(), count, dim_)).noalias() =
        Map(MatrixView<const Real>(scores)) *
        Map(MatrixView<const Real>(contexts_.data(), num_contexts_, dim_));
  }

 private:
  // Adds the entries [first, end) to the K contexts. Blocks are small enough to
  // stay in cache while each of the K contexts takes its share.
  void Encode(Index first, Index end) {
    const MatrixView<const Real>& h = memory_.all();
    for (; first < end; first += kBlock) {
      const Index count = std::min(kBlock, end - first);
      for (Index n = 0; n < count; ++n) {
        ScoreEntry(first + n);
        for (Index k = 0; k < num_contexts_; ++k) {
          block_[Size(k * kBlock + n)] = scores_[Size(k)];
        }
        if (want_weights_) {
          alpha_.insert(alpha_.end(), scores_.begin(), scores_.end());
        }
      }
      for (Index k = 0; k < num_contexts_; ++k) {
        kernels_.add_rows(&block_[Size(k * kBlock)],
                          h.data + first * h.row_stride, h.row_stride, count,
                          dim_, contexts_.data() + k * dim_);
      }
    }
  }

  // scores_ = alpha_t, eq 5 or 9.
  void ScoreEntry(Index t) {
    if (!given_) {
      kernels_.dot_rows(memory_.all().Row(t).data(), encoder_.data, dim_,
                        num_contexts_, dim_, scores_.data());
    } else {
      std::ranges::copy(given_->encoder.Row(t), scores_.begin());
    }
    if (encoding_.inside()) encoding_.Apply(t, scores_.data());
    score_encoder_(num_contexts_, scores_.data(), scores_.data());
    if (encoding_.outside()) encoding_.Apply(t, scores_.data());
  }

  // attention(t) = beta . alpha_t; O(T K), and only when asked for.
  std::span<const Real> MakeWeights() {
    const Index length = memory_.all().rows;
    weights_.resize(Size(length));
    kernels_.dot_rows(scores_.data(), alpha_.data(), num_contexts_, length,
                      num_contexts_, weights_.data());
    return weights_;
  }

  static constexpr Index kBlock = 16;
  const Kernels<Real>& kernels_;
  const Index dim_;
  const Index num_contexts_;
  const bool want_weights_;
  const std::optional<GivenScores<Real>> given_;
  const Scoring<Real> score_encoder_;
  const Scoring<Real> score_decoder_;
  PositionEncoding encoding_;
  MatrixView<const Real> encoder_;  // W_alpha [K, d]
  MatrixView<const Real> decoder_;  // W_beta [K, d]
  JoinedRows<Real> memory_;
  Buffer<Real> contexts_;  // C [K, d]
  Buffer<Real> block_;     // alpha of a block, [K, kBlock]
  Buffer<Real> scores_;    // alpha_t or beta_i, [K]
  Buffer<Real> alpha_;     // [T, K], where weights are wanted
  Buffer<Real> weights_;
  Buffer<Real> beam_scores_;  // beta_i of each hypothesis, [n, K]
  Index output_ = 0;
  bool closed_ = false;
};

const Description& About() {
  static const Description about = {
      .name = "memory",
      .title = "fixed-size memory attention",
      .paper = "Britz et al. 2017, section 3, eqs 4-10",
      .modes = {Mode::kDecode, Mode::kExpect, Mode::kGradient},
      .schedules = {Schedule::kOnline},
      .variants = {{"exact", "K contexts made while encoding"},
                   {.name = "reference",
                    .help = "eqs 4 to 10 in scalar loops",
                    .is_reference = true,
                    .counts_memory = false}},
      .options = {{.name = "num_contexts",
                   .default_value = std::int64_t{32},
                   .least = 1,
                   .help = "K, vectors of the fixed-size memory"},
                  {.name = "encoder_scoring",
                   .default_value = std::string("softmax"),
                   .allowed = {"softmax", "sigmoid"},
                   .help = "score of eq 5, over the K contexts of each entry"},
                  {.name = "decoder_scoring",
                   .default_value = std::string("softmax"),
                   .allowed = {"softmax", "sigmoid"},
                   .help = "score of eq 7"},
                  {.name = "position_encoding",
                   .default_value = std::string("none"),
                   .allowed = {"none", "raw", "renormalized",
                               "renormalized_mean"},
                   .help =
                       "L of eq 10 as it is, or its rows scaled to sum 1 or "
                       "mean 1 over the entries"},
                  {.name = "place",
                   .default_value = std::string("inside"),
                   .allowed = {"inside", "outside"},
                   .help = "multiply by L before the score (eq 9) or after it"},
                  {.name = "max_length",
                   .default_value = std::int64_t{0},
                   .least = 0,
                   .greatest = 0x1p53,
                   .help = "S of eq 10, the longest source; 0: T"}},
      .scores = {{{.name = kEncoderScores, .shape = "TK"}},
                 {{.name = kDecoderScores, .shape = "UK"}}},
      .online = false,
      .beam = true};
  return about;
}

template <class Real>
class Memory final : public Mechanism<Real> {
 public:
  const Description& Describe() const override { return About(); }

  std::unique_ptr<Decoder<Real>> MakeDecoder(
      const Config& config, const SequenceInputs<Real>& inputs) const override {
    if (VariantOf(About(), config).is_reference)
      return MakeReference(config, inputs);
    return std::make_unique<MemoryDecoder<Real>>(config, inputs);
  }

  void Expect(const Config& config, const Sequence<Real>& sequence,
              const Expectation<Real>& out) const override {
    if (VariantOf(About(), config).is_reference) {
      ReferenceExpect(config, sequence, out);
    } else {
      memory::Expect(config, sequence, out);
    }
  }
  void Gradient(const Config& config, const Sequence<Real>& sequence,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const Gradients<Real>& gradients) const override {
    if (VariantOf(About(), config).is_reference) {
      ReferenceGradient(config, sequence, cotangent, out, gradients);
    } else {
      memory::Gradient(config, sequence, cotangent, out, gradients);
    }
  }

  Operations Count(const Config& config,
                   const CountedWork& work) const override {
    if (config.mode != Mode::kDecode) return CountTraining<Real>(config, work);
    const auto T = static_cast<double>(work.memory_length);
    const auto U = static_cast<double>(work.steps.size());
    const auto K = static_cast<double>(NumContexts(config));
    const auto d = static_cast<double>(config.dim);
    const bool encoded =
        config.Option<std::string>("position_encoding") != "none";
    const double products = work.scores_given ? 0 : 2 * K * d;
    // Each of the K scores takes a comparison, a difference, an exp, a sum and
    // a division.
    const double score = 5 * K;
    Operations total;
    total.flops = T * (products + score + (encoded ? K : 0) + 2 * K * d) +
                  U * (products + score + 2 * K * d);
    // An entry is read, and an output reads the K contexts.
    total.memory_rows = T + U * K;
    const double parameters = work.scores_given ? 0 : K * (T + U);
    total.bytes =
        sizeof(Real) * (d * (total.memory_rows + parameters + 2 * K + 2 * U));
    return total;
  }
};

}  // namespace

Index PositionScale(Index max_length, Index memory_length) {
  if (max_length == 0) return std::max<Index>(memory_length, 1);
  if (max_length < memory_length) {
    throw Unsupported("max_length " + std::to_string(max_length) +
                      " is less than the memory length " +
                      std::to_string(memory_length));
  }
  return max_length;
}

template <class Real>
std::optional<GivenScores<Real>> FindGiven(const SequenceInputs<Real>& inputs,
                                           Index num_contexts) {
  if (inputs.scores.empty()) return std::nullopt;
  const GivenScores<Real> given{inputs.scores.Find(kEncoderScores),
                                inputs.scores.Find(kDecoderScores)};
  if (given.encoder.data == nullptr || given.decoder.data == nullptr) {
    throw Unsupported("no encoder and decoder scores were given");
  }
  ATTN_CHECK_EQ(given.encoder.cols, num_contexts);
  ATTN_CHECK_EQ(given.decoder.cols, num_contexts);
  return given;
}

template std::optional<GivenScores<float>> FindGiven(
    const SequenceInputs<float>&, Index);
template std::optional<GivenScores<double>> FindGiven(
    const SequenceInputs<double>&, Index);

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<Memory<Real>>();
}

template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::memory
