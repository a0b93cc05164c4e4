#include <algorithm>
#include <cmath>
#include <string>

#include "harness/base/arrays.h"
#include "harness/base/purposes.h"
#include "harness/claims/computed.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

// ---- weights of the K contexts ----------------------------------------------

// exp is 0 at this score: a softmax of such scores and one 0 is 1 and 0.
constexpr double kNever = -1000;

// The weight of each entry in context k, [K, T]. Each output chooses one
// context alone.
Table<double> WeightsOf(const Config& config,
                        const Table<double>& encoder_scores) {
  const Index K = config.Option<Index>("num_contexts");
  const Index T = encoder_scores.rows;
  Table<double> decoder_scores(K, K);
  for (Index k = 0; k < K; ++k) {
    for (Index l = 0; l < K; ++l) {
      decoder_scores.view()(k, l) = k == l ? 0 : kNever;
    }
  }
  const Table<double> memory(T, 1);
  Sequence<double> sequence;
  sequence.inputs.scores.Set("encoder_scores", encoder_scores.view());
  sequence.inputs.scores.Set("decoder_scores",
                             std::as_const(decoder_scores).view());
  sequence.memory = memory.view();
  Table<double> weights(K, T);
  FindMechanism<double>("memory")->Expect(config, sequence,
                                          {.attention = weights.view()});
  return weights;
}

Config MemoryConfig(Index num_contexts, const std::string& position_encoding,
                    const std::string& place) {
  Config config =
      DefaultConfig(FindMechanism<double>("memory")->Describe(), Mode::kExpect);
  config.dim = 1;
  config.options["num_contexts"] = num_contexts;
  config.options["position_encoding"] = position_encoding;
  config.options["place"] = place;
  return config;
}

// ---- position encodings -----------------------------------------------------

// L(k, s) of Britz eq 10 as the mechanism has it, [K, S], element (k - 1,
// s - 1): every entry belongs to context k alone, with weight 1 before L.
Table<double> PositionEncodingOf(Index K, Index S) {
  const Config config = MemoryConfig(K, "raw", "outside");
  Table<double> encoding(K, S);
  for (Index k = 0; k < K; ++k) {
    Table<double> scores(S, K);
    std::ranges::fill(scores.values, kNever);
    for (Index s = 0; s < S; ++s) scores.view()(s, k) = 0;
    const Table<double> weights = WeightsOf(config, scores);
    std::ranges::copy(weights.view().Row(k), encoding.view().Row(k).begin());
  }
  return encoding;
}

// These functions read L(k, s), with k and s from 1.
class Encoding {
 public:
  Encoding(Index K, Index S) : K_(K), S_(S), table_(PositionEncodingOf(K, S)) {}

  // The greatest |L(k, s) - L(K - k, S - s)|.
  double Asymmetry() const {
    double greatest = 0;
    for (Index k = 1; k < K_; ++k) {
      for (Index s = 1; s < S_; ++s) {
        greatest = std::max(greatest, std::fabs(L(k, s) - L(K_ - k, S_ - s)));
      }
    }
    return greatest;
  }
  double Center() const { return L(K_ / 2, S_ / 2); }
  // The greater of the central differences in k and in s, at the centre.
  double Slope() const {
    const Index k = K_ / 2;
    const Index s = S_ / 2;
    return std::max(std::fabs(L(k + 1, s) - L(k - 1, s)),
                    std::fabs(L(k, s + 1) - L(k, s - 1))) /
           2;
  }

 private:
  double L(Index k, Index s) const { return table_(k - 1, s - 1); }

  const Index K_, S_;
  const Table<double> table_;
};

struct EncodingInputs {
  std::vector<Index> num_contexts = {}, max_length = {};

  static void Fields(auto& self, auto& visit) {
    // The centre is an element only if both are even.
    const Rule even{.minimum = 4, .multiple_of = 2};
    visit("num_contexts", self.num_contexts, even);
    visit("max_length", self.max_length, even);
  }
};

template <double (Encoding::*Figure)() const>
ComputedRows EncodingFigure(const EncodingInputs& inputs,
                            std::uint64_t /*seed*/) {
  ComputedRows rows;
  for (const Index K : inputs.num_contexts) {
    for (const Index S : inputs.max_length) {
      rows.push_back(ComputedRow({{"num_contexts", K}, {"max_length", S}},
                                 (Encoding(K, S).*Figure)()));
    }
  }
  return rows;
}

// The mean position of each context, over T, for scores N(0, 1) of a draw.
std::vector<double> MeanPositions(const Config& config, Index T,
                                  std::uint64_t seed, int draw) {
  Table<double> scores(T, config.Option<Index>("num_contexts"));
  for (std::size_t n = 0; n < scores.values.size(); ++n) {
    scores.values[n] = StandardNormal(
        Philox(seed, kClaimsPurpose, static_cast<std::uint32_t>(draw), n));
  }
  const Table<double> weights = WeightsOf(config, scores);
  std::vector<double> means;
  for (Index k = 0; k < weights.rows; ++k) {
    double sum = 0;
    double moment = 0;
    for (Index t = 0; t < T; ++t) {
      sum += weights(k, t);
      moment += weights(k, t) * static_cast<double>(t + 1);
    }
    means.push_back(moment / sum / static_cast<double>(T));
  }
  return means;
}

double Range(const std::vector<double>& means) {
  return means.back() - means.front();
}

double Order(const std::vector<double>& means) {
  std::vector<double> k(means.size());
  for (std::size_t n = 0; n < k.size(); ++n) k[n] = static_cast<double>(n);
  return RankCorrelation(k, means);
}

struct ReadingInputs {
  std::vector<std::string> encodings = {}, places = {};
  Index memory_length = 1, num_contexts = 1;
  int draws = 1;

  static void Fields(auto& self, auto& visit) {
    visit("position_encoding", self.encodings,
          OptionRule("memory", "position_encoding"));
    visit("place", self.places, OptionRule("memory", "place"));
    visit("memory_length", self.memory_length, kAtLeastOne);
    visit("num_contexts", self.num_contexts, kAtLeastOne);
    visit("draws", self.draws, kAtLeastOne);
  }
};

// A figure's centre over the draws, for each reading of eqs 8 to 10.
template <double (*Figure)(const std::vector<double>&)>
ComputedRows OfReadings(const ReadingInputs& inputs, std::uint64_t seed) {
  const double miss = kMiss / static_cast<double>(inputs.encodings.size() *
                                                  inputs.places.size());
  ComputedRows rows;
  for (const std::string& encoding : inputs.encodings) {
    for (const std::string& place : inputs.places) {
      const Config config = MemoryConfig(inputs.num_contexts, encoding, place);
      std::vector<double> figures;
      for (int draw = 0; draw < inputs.draws; ++draw) {
        figures.push_back(
            Figure(MeanPositions(config, inputs.memory_length, seed, draw)));
      }
      rows.push_back(
          ComputedRow({{"position_encoding", encoding}, {"place", place}},
                      EstimateOf({figures}, /*builds=*/1, Effect(), miss)));
    }
  }
  return rows;
}

constexpr NamedQuantity kFormulaQuantities[] = {
    {"position_encoding_asymmetry",
     Reads<EncodingFigure<&Encoding::Asymmetry>>},
    {"position_encoding_center", Reads<EncodingFigure<&Encoding::Center>>},
    {"position_encoding_slope", Reads<EncodingFigure<&Encoding::Slope>>},
    {"context_position_range", Reads<OfReadings<Range>>},
    {"context_position_order", Reads<OfReadings<Order>>}};

}  // namespace

std::span<const NamedQuantity> FormulaQuantities() {
  return kFormulaQuantities;
}

}  // namespace attnbench
