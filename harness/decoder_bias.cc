#include "harness/decoder_bias.h"

#include <algorithm>
#include <limits>

#include "harness/decoder_ratios.h"
#include "harness/model/attention_record.h"

namespace attnbench {
namespace {

constexpr double kLargest = 32;  // beyond any energy of the model's size
constexpr int kHalvings = 12;    // to 2^-6, exact in f32
constexpr int kNeighbours = 48;  // to either side
constexpr double kNeighbourStep = 0x1p-6;
// What is missing is little where it is half of what a time may have.
constexpr double kLittle = 0.5;

class BiasSearch {
 public:
  BiasSearch(Translator<float>& translator, BeamAttention<float>& attention,
             const TranslationTask& task)
      : translator_(translator), attention_(attention), task_(task) {
    double low = -kLargest;
    double high = kLargest;
    for (int n = 0; n < kHalvings && !IsGood(); ++n) {
      const double middle = (low + high) / 2;
      (Try(middle) > 0 ? high : low) = middle;
    }
    for (int n = 1; n <= kNeighbours && !IsGood(); ++n) {
      Try(high + n * kNeighbourStep);
      if (!IsGood()) Try(high - n * kNeighbourStep);
    }
  }

  double best() const { return best_; }

 private:
  bool IsGood() const { return least_missing_ <= kLittle; }

  // Above 0: entries are left. Below: outputs are.
  double Try(double bias) {
    task_.energy_bias = bias;
    AttentionRecord<float> record(translator_, task_, /*beam=*/1);
    const AttentionReads reads = record.Reads(attention_);
    const double unread =
        1 - reads.furthest / static_cast<double>(record.memory_length());
    const double empty = reads.zero_contexts / reads.outputs;
    const double missing =
        std::max(unread / (1 - kLeastMemoryRead), empty / kMostZeroContexts);
    if (missing < least_missing_) {
      least_missing_ = missing;
      best_ = bias;
    }
    return unread - empty;
  }

  Translator<float>& translator_;
  BeamAttention<float>& attention_;
  TranslationTask task_;
  double best_ = 0;
  // Of the memory or of the outputs, in units of what a time may have.
  double least_missing_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::vector<double> SourceBiases(const WholeDecoder& decoder,
                                 std::span<const CopyTask> tasks) {
  std::vector<double> biases(tasks.size(), 0);
  if (!decoder.mechanism->Describe().online) return biases;
  Translator<float> translator = decoder.MakeTranslator();
  BeamAttention<float> attention(*decoder.mechanism, decoder.config,
                                 decoder.model->Inputs<float>(0));
  for (std::size_t n = 0; n < tasks.size(); ++n) {
    if (tasks[n].length() == 0) continue;
    biases[n] = BiasSearch(translator, attention, tasks[n].task()).best();
  }
  return biases;
}

}  // namespace attnbench
