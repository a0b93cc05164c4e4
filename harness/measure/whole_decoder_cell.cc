#include "harness/measure/whole_decoder_cell.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "harness/latency/latency.h"
#include "harness/machine/clock.h"
#include "harness/machine/environment.h"
#include "harness/measure/cell_life.h"
#include "harness/measure/whole_decoder_gate.h"
#include "harness/model/attention_record.h"
#include "harness/results/summary.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

// The least of so many: one interruption must not pass for a long trial.
constexpr int kCalibrations = 3;

// A source as the encoder left it, in arrays of its own.
struct KeptEncoding {
  explicit KeptEncoding(const Encoded<float>& encoded)
      : memory(Copy(encoded.memory)),
        cells(Copy(encoded.cells)),
        outputs(Copy(encoded.outputs)),
        view{
            .memory = {memory.data(), encoded.memory.rows, encoded.memory.cols},
            .cells = {cells.data(), encoded.cells.rows, encoded.cells.cols},
            .outputs = {outputs.data(), encoded.outputs.rows,
                        encoded.outputs.cols}} {}

  KeptEncoding(KeptEncoding&&) = default;  // arrays keep their place
  KeptEncoding(const KeptEncoding&) = delete;

  static Buffer<float> Copy(const MatrixView<const float>& matrix) {
    return {matrix.data, matrix.data + matrix.rows * matrix.cols};
  }

  Buffer<float> memory, cells, outputs;
  Encoded<float> view;
};

class DecoderRun final : public CellLife {
 public:
  DecoderRun(const Cell& cell, DecoderInputsSource inputs,
             const RunOptions& options)
      : CellLife(cell, options), make_inputs_(std::move(inputs)) {}

 private:
  void Prepare() override {
    SetAllocationLimit(AvailableMemoryBytes() + KeptBytes());
    inputs_ = &make_inputs_();
    decoder_.model = &inputs_->timed();
    decoder_.beam = inputs_->beam();
    if (HasAttention()) {
      decoder_.mechanism = FindMechanism<float>(cell_.mechanism);
      decoder_.reference = FindMechanism<double>(cell_.mechanism);
      decoder_.config = MakeConfig(cell_);
      if (HasPolicy(decoder_.mechanism->Describe(), decoder_.config)) {
        decoder_.model = &inputs_->aligned();
      }
    }
    if (options_.counter == nullptr) Gate(CheckAll());
    if (!is_ok()) return;
    translator_.emplace(decoder_.MakeTranslator());
    trials_per_sample_ = cell_.replicate ? cell_.replicate->trials_per_sample
                                         : options_.trials_of_round();
    for (const TranslationTask& task : inputs_->tasks()) {
      figures_.source_lengths.push_back(std::ssize(task.source));
    }
    if (HasAttention() && options_.counter == nullptr) RecordAttention();
    if (cell_.Text("encoder") == "given") KeepEncoded();
  }

  std::optional<double> PageFaults() const override {
    return static_cast<double>(attnbench::PageFaults());
  }
  double TimeWhole(int /*round*/) override {
    return TimeTrialsNs(trials_per_sample_, [this] { Translate(); });
  }
  void TimePart(int round) override {
    if (!HasAttention()) return;
    SetSample(round,
              TimeTrialsNs(*figures_.attention_trials_per_sample,
                           [this] { Replay(); }),
              figures_.attention_samples_ns);
  }

  double TrialInstructions() override {
    Translate();  // what it allocates stays
    return options_.counter->Count([this] { Translate(); });
  }

  void Describe(ResultCell& result) const override {
    result.decoder = figures_;
    result.latency = latency_;
    Summarize(result);
  }

  bool HasAttention() const { return cell_.mechanism != kNoAttention; }

  // The first that is wrong, or else the largest errors. The time of the check
  // is also that of the weights, for the first cell of a point.
  GateResult CheckAll() const {
    GateResult all;
    for (const DecoderModel* model :
         {decoder_.model, &inputs_->random_scans()}) {
      WholeDecoder decoder = decoder_;
      decoder.model = model;
      std::vector<TranslationTask> tasks(inputs_->tasks().begin(),
                                         inputs_->tasks().end());
      // Captured energies would take the hypotheses of random scans to the same
      // entries.
      if (model == &inputs_->random_scans()) {
        for (TranslationTask& task : tasks) task.captured = nullptr;
      }
      GateResult gate = CheckWholeDecoder(decoder, tasks);
      if (!gate.message.empty()) return gate;
      all.error = std::max(all.error, gate.error);
      all.error_bound = std::max(all.error_bound, gate.error_bound);
    }
    return all;
  }

  void Translate() {
    for (std::size_t n = 0; n < inputs_->tasks().size(); ++n) {
      const TranslationTask& task = inputs_->tasks()[n];
      if (!encoded_.empty()) translator_->UseEncoded(&encoded_[n].view);
      if (decoder_.beam == 1) {
        translator_->Greedy(task);
      } else {
        translator_->BeamSearch(task, decoder_.beam);
      }
    }
  }

  // Encodes all sources before the clock.
  void KeepEncoded() {
    encoded_.reserve(inputs_->tasks().size());
    for (const TranslationTask& task : inputs_->tasks()) {
      TranslationTask none = task;
      none.num_steps = 0;
      translator_->Greedy(none);
      encoded_.emplace_back(translator_->encoded());
    }
  }

  void RecordAttention() {
    for (const TranslationTask& task : inputs_->tasks()) {
      records_.emplace_back(*translator_, task, decoder_.beam);
    }
    attention_.emplace(*decoder_.mechanism, decoder_.config,
                       decoder_.model->Inputs<float>());
    CountReads();
    double once_ns = std::numeric_limits<double>::infinity();
    for (int n = 0; n < kCalibrations; ++n) {
      once_ns = std::min(once_ns, TimeTrialsNs(1, [this] { Replay(); }));
    }
    figures_.attention_trials_per_sample = std::max<Index>(
        1, static_cast<Index>(kAttentionSampleNs / std::max(once_ns, 1.0)));
  }

  void Replay() {
    for (AttentionRecord<float>& record : records_) record.Replay(*attention_);
  }

  void CountReads() {
    AttentionReads sum;
    LatencyMean latency;
    double entries = 0;
    double could_choose = 0;  // outputs of sources that have entries
    for (AttentionRecord<float>& record : records_) {
      const AttentionReads reads = record.Reads(*attention_);
      sum.outputs += reads.outputs;
      sum.energies += reads.energies;
      if (record.memory_length() == 0) continue;
      could_choose += reads.outputs;
      sum.zero_contexts += reads.zero_contexts;
      sum.furthest += reads.furthest;
      entries += static_cast<double>(record.memory_length());
      for (const std::vector<double>& delays : reads.delays) {
        latency.Add(LatencyOf(delays, record.memory_length(),
                              /*reference_length=*/std::ssize(delays)));
      }
    }
    if (DecodesOnline(decoder_.mechanism->Describe(), decoder_.config)) {
      latency_ = latency.Mean();
    }
    DecoderReads& reads = figures_.reads.emplace();
    reads.energies_per_output = sum.energies / sum.outputs;
    if (entries == 0) return;
    reads.zero_contexts = sum.zero_contexts / could_choose;
    reads.memory_read = sum.furthest / entries;
  }

  const DecoderInputsSource make_inputs_;
  const DecoderInputs* inputs_ = nullptr;
  WholeDecoder decoder_;
  std::optional<Translator<float>> translator_;
  std::vector<AttentionRecord<float>> records_;
  std::vector<KeptEncoding> encoded_;  // of each task; empty: it is timed
  std::optional<BeamAttention<float>> attention_;
  DecoderFigures figures_;
  std::optional<Latency> latency_;
};

}  // namespace

std::unique_ptr<CellRun> MakeDecoderRun(const Cell& cell,
                                        DecoderInputsSource inputs,
                                        const RunOptions& options) {
  return std::make_unique<DecoderRun>(cell, std::move(inputs), options);
}

}  // namespace attnbench
