#include "harness/decoder_bias.h"

#include <vector>

#include "harness/decoder_experiment.h"
#include "harness/model/attention_record.h"

namespace attnbench {
namespace {

constexpr Index kSources = 4;
constexpr Index kSourceLength = 40;
constexpr double kLargest = 32;  // beyond any energy of the model's size
constexpr int kHalvings = 15;    // to 2^-9, exact in f32
constexpr int kTranslations = 3;

// Above 0: entries are left. Below 0: outputs are left.
double Balance(const WholeDecoder& decoder, double bias,
               std::vector<AttentionRecord<float>>& records) {
  BeamAttention<float> attention(*decoder.mechanism, decoder.config,
                                 decoder.model->Inputs<float>(bias));
  double balance = 0;
  for (AttentionRecord<float>& record : records) {
    const AttentionReads reads = record.Reads(attention);
    balance += 1 -
               reads.furthest / static_cast<double>(record.memory_length()) -
               reads.zero_contexts / reads.outputs;
  }
  return balance;
}

}  // namespace

double BalancedBias(WholeDecoder decoder) {
  decoder.energy_bias = 0;
  if (!decoder.mechanism->Describe().online) return 0;
  const Index vocabulary = decoder.model->sizes().vocabulary;
  for (int n = 0; n < kTranslations; ++n) {
    Translator<float> translator = decoder.MakeTranslator();
    std::vector<AttentionRecord<float>> records;
    for (Index source = 0; source < kSources; ++source) {
      const CopyTask copy(
          DrawSource(decoder.model->seed(), source, kSourceLength, vocabulary),
          vocabulary);
      records.emplace_back(translator, copy.task(), /*beam=*/1);
    }
    double low = -kLargest, high = kLargest;
    for (int halving = 0; halving < kHalvings; ++halving) {
      const double middle = (low + high) / 2;
      (Balance(decoder, middle, records) > 0 ? high : low) = middle;
    }
    decoder.energy_bias = high;
  }
  return decoder.energy_bias;
}

}  // namespace attnbench
