#include "harness/measure/decoder_cell.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "harness/machine/clock.h"
#include "harness/measure/decoder_gate.h"
#include "harness/measure/decoder_ratios.h"
#include "harness/measure/guarded_run.h"
#include "harness/model/attention_record.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

// A sample of attention alone lasts at least so long.
constexpr double kAttentionSampleNs = 2e6;
// The least of so many: one interruption must not pass for a long trial.
constexpr int kCalibrations = 3;

class DecoderCell final : public GuardedRun<DecoderCellRun> {
 public:
  DecoderCell(const DecoderPoint& point, const Cell* cell)
      : point_(point), cell_(cell) {
    if (cell_ != nullptr && cell_->skip_reason) {
      Fail(CellStatus::kSkipped, *cell_->skip_reason);
    }
  }

  void Check() override {
    Guarded([this] {
      decoder_.model = point_.model;
      decoder_.beam = point_.setting.beam;
      if (cell_ != nullptr) {
        decoder_.mechanism = FindMechanism<float>(cell_->mechanism);
        decoder_.reference = FindMechanism<double>(cell_->mechanism);
        decoder_.config = MakeConfig(*cell_);
      }
      for (const CopyTask& task : point_.tasks) tasks_.push_back(task.task());
      for (const DecoderModel* model : {point_.model, point_.random_scans}) {
        WholeDecoder decoder = decoder_;
        decoder.model = model;
        const GateResult gate = CheckDecoder(decoder, point_.tasks);
        if (!gate.message.empty())
          return Fail(CellStatus::kInvalid, gate.message);
        gate_.error = std::max(gate_.error, gate.error);
        gate_.error_bound = std::max(gate_.error_bound, gate.error_bound);
      }
      translator_.emplace(decoder_.MakeTranslator());
      if (cell_ != nullptr) RecordAttention();
    });
  }

  void TimeRound(int /*round*/) override {
    Guarded([this] {
      samples_ns_.push_back(TimeTrialsNs(1, [this] { Translate(); }));
      if (cell_ == nullptr) return;
      attention_samples_ns_.push_back(
          TimeTrialsNs(attention_trials_, [this] { Replay(); }));
    });
  }

  void TimeParts() override {}

  Json Result() const override {
    const bool has_times = is_ok();
    Json json = {{"mechanism", cell_ ? cell_->mechanism : kNoAttention}};
    for (const char* axis : kDecoderAxes) {
      json[axis] = cell_ ? ToJson(cell_->axes.at(axis)) : Json(nullptr);
    }
    json.update({{"options", cell_ ? OptionsJson(*cell_) : Json::object()},
                 {"units", point_.setting.units},
                 {"memory_share", point_.setting.memory_share},
                 {"length", point_.setting.length},
                 {"beam", point_.setting.beam},
                 {"processes", 1},
                 {"status", StatusName(status())},
                 {"message", has_times ? Json(nullptr) : Json(message())},
                 {"samples_ns", has_times ? Json(samples_ns_) : Json::array()},
                 {"attention_samples_ns",
                  has_times ? Json(attention_samples_ns_) : Json::array()},
                 {"attention_trials_per_sample",
                  has_times && cell_ ? Json(attention_trials_) : Json(nullptr)},
                 {"reads", has_times ? reads_ : Json(nullptr)},
                 {"gate", has_times ? Json{{"error", gate_.error},
                                           {"error_bound", gate_.error_bound}}
                                    : Json(nullptr)},
                 {"point", point_.name}});
    SummarizeSamples("", json);
    SummarizeSamples("attention_", json);
    return json;
  }

 private:
  void Translate() {
    for (const TranslationTask& task : tasks_) {
      if (point_.setting.beam == 1) {
        translator_->Greedy(task);
      } else {
        translator_->BeamSearch(task, point_.setting.beam);
      }
    }
  }

  void RecordAttention() {
    for (const TranslationTask& task : tasks_) {
      records_.emplace_back(*translator_, task, point_.setting.beam);
    }
    attention_.emplace(*decoder_.mechanism, decoder_.config,
                       point_.model->Inputs<float>());
    CountReads();
    double once_ns = std::numeric_limits<double>::infinity();
    for (int n = 0; n < kCalibrations; ++n) {
      once_ns = std::min(once_ns, TimeTrialsNs(1, [this] { Replay(); }));
    }
    attention_trials_ = std::max<Index>(
        1, static_cast<Index>(kAttentionSampleNs / std::max(once_ns, 1.0)));
  }

  void Replay() {
    for (AttentionRecord<float>& record : records_) record.Replay(*attention_);
  }

  void CountReads() {
    AttentionReads sum;
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
    }
    reads_ = {{"energies_per_output", sum.energies / sum.outputs},
              {"zero_contexts", nullptr},
              {"memory_read", nullptr}};
    if (entries == 0) return;
    reads_["zero_contexts"] = sum.zero_contexts / could_choose;
    reads_["memory_read"] = sum.furthest / entries;
  }

  const DecoderPoint& point_;
  const Cell* const cell_;
  WholeDecoder decoder_;
  std::vector<TranslationTask> tasks_;
  GateResult gate_;
  std::optional<Translator<float>> translator_;
  std::vector<AttentionRecord<float>> records_;
  std::optional<BeamAttention<float>> attention_;
  Json reads_;
  Index attention_trials_ = 1;
  std::vector<double> samples_ns_;
  std::vector<double> attention_samples_ns_;
};

}  // namespace

std::unique_ptr<DecoderCellRun> MakeDecoderCell(const DecoderPoint& point,
                                                const Cell* cell) {
  return std::make_unique<DecoderCell>(point, cell);
}

}  // namespace attnbench
