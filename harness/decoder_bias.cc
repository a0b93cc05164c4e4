#include "harness/decoder_bias.h"

#include <vector>

#include "harness/model/attention_record.h"

namespace attnbench {
namespace {

constexpr double kLargest = 64;  // beyond any energy of the model's size
constexpr int kHalvings = 16;

// Above 0: entries are left. Below 0: outputs were left.
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

double BalancedBias(const WholeDecoder& decoder,
                    std::span<const CopyTask> tasks) {
  if (!decoder.mechanism->Describe().online) return 0;
  Translator<float> translator = decoder.MakeTranslator();
  std::vector<AttentionRecord<float>> records;
  for (const CopyTask& copy : tasks) {
    if (copy.length() == 0) continue;
    records.emplace_back(translator, copy.task(), /*beam=*/1);
  }
  if (records.empty()) return 0;
  double low = -kLargest, high = kLargest;
  for (int n = 0; n < kHalvings; ++n) {
    const double middle = (low + high) / 2;
    (Balance(decoder, middle, records) > 0 ? high : low) = middle;
  }
  return (low + high) / 2;
}

}  // namespace attnbench
