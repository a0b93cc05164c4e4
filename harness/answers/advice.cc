#include "harness/answers/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "harness/answers/columns.h"
#include "harness/answers/table.h"
#include "harness/base/error.h"
#include "harness/base/printable.h"
#include "harness/machine/validity.h"
#include "harness/results/cell_match.h"
#include "harness/results/summary.h"

namespace attnbench {
namespace {

// A point with one source gives it half of memory_length (SourceLengths), so
// the sweep asks for twice the length.
constexpr std::int64_t kAskedOverLength = 2;

std::vector<std::int64_t> LengthsOf(const AdvisedShape& shape) {
  std::vector<std::int64_t> lengths;
  for (const std::int64_t part : {16, 4, 1}) {
    const std::int64_t length =
        std::max<std::int64_t>(1, shape.memory_length / part);
    if (lengths.empty() || lengths.back() < length) lengths.push_back(length);
  }
  return lengths;
}

std::int64_t OutputsAt(std::int64_t length, const AdvisedShape& shape) {
  const double outputs = static_cast<double>(shape.output_length) *
                         static_cast<double>(length) /
                         static_cast<double>(shape.memory_length);
  return std::max<std::int64_t>(1, std::llround(outputs));
}

// Whether the cell's source has this length.
bool IsAt(const ResultCell& cell, std::int64_t length) {
  return cell.Int("memory_length") == kAskedOverLength * length;
}

// The cell with the time of its attention alone.
ResultCell AttentionOf(const ResultCell& cell) {
  ResultCell attention = cell;
  attention.samples_ns = cell.decoder->attention_samples_ns;
  attention.median_ns = cell.decoder->attention_median_ns;
  attention.interval_ns = cell.decoder->attention_interval_ns;
  return attention;
}

AdvisedTime TimeOf(const ResultCell& cell, const ResultCell& soft) {
  AdvisedTime time{.time_ns = *cell.median_ns,
                   .time_interval_ns = cell.interval_ns};
  const auto speedup = SpeedupOf(cell, soft);
  if (cell.mechanism != kSoftAttention && speedup) {
    time.speedup = speedup->value;
    time.speedup_interval = Finite(speedup->interval);
  }
  return time;
}

using SoftCells = std::map<std::int64_t, const ResultCell*>;  // by length

SoftCells SoftCellsOf(const SweepResult& result,
                      const std::vector<std::int64_t>& lengths) {
  SoftCells cells;
  for (const ResultCell& cell : result.cells) {
    if (cell.mechanism != kSoftAttention) continue;
    if (!cell.is_ok()) {
      throw UserError("advise", "soft attention has no time: " +
                                    cell.message.value_or(NameOf(cell.status)));
    }
    for (const std::int64_t length : lengths) {
      if (IsAt(cell, length)) cells[length] = &cell;
    }
  }
  return cells;
}

// ln of soft attention's time over this one's, by length.
using LogRatios = std::vector<std::pair<std::int64_t, double>>;

LogRatios RatiosOf(const std::string& mechanism, const SweepResult& result,
                   const SoftCells& soft) {
  LogRatios ratios;
  for (const auto& [length, base] : soft) {
    for (const ResultCell& cell : result.cells) {
      if (cell.mechanism != mechanism || !cell.decoder || !IsAt(cell, length)) {
        continue;
      }
      const auto speedup = SpeedupOf(AttentionOf(cell), AttentionOf(*base));
      if (speedup) ratios.emplace_back(length, std::log(speedup->value));
    }
  }
  return ratios;
}

BreakEven BreakEvenOf(const LogRatios& ratios) {
  BreakEven found;
  // The last length at which it is not faster; it is at all that follow.
  std::size_t last = ratios.size();
  while (last > 0 && ratios[last - 1].second > 0) --last;
  if (last > 0) found.above = ratios[last - 1].first;
  if (last < ratios.size()) found.below = ratios[last].first;
  if (found.above && found.below) {
    const double before = ratios[last - 1].second;
    const double after = ratios[last].second;
    const double from = std::log(static_cast<double>(*found.above));
    const double to = std::log(static_cast<double>(*found.below));
    found.about = std::exp(from + (to - from) * -before / (after - before));
  }
  return found;
}

AdvisedMechanism MechanismOf(const ResultCell& cell, const ResultCell& soft,
                             double memory_read) {
  AdvisedMechanism one;
  one.mechanism = MechanismText(cell);
  if (!cell.is_ok()) {
    one.message = cell.message.value_or(NameOf(cell.status));
    return one;
  }
  one.decoder = TimeOf(cell, soft);
  one.latency = cell.latency;
  if (!cell.decoder->reads) return one;
  const DecoderReads& reads = *cell.decoder->reads;
  one.attention = TimeOf(AttentionOf(cell), AttentionOf(soft));
  one.energies_per_output = reads.energies_per_output;
  one.memory_read = reads.memory_read;
  one.zero_contexts = reads.zero_contexts;
  one.is_as_trained =
      reads.memory_read.value_or(1) >= kLeastRead * memory_read &&
      reads.zero_contexts.value_or(0) <= kMostZeroContexts;
  return one;
}

// The cells that may be recommended, each with what is said of it.
using Candidates =
    std::vector<std::pair<const ResultCell*, const AdvisedMechanism*>>;

// The one with the fastest decoder; there is one at least.
Candidates::value_type BestOf(const Candidates& candidates) {
  return *std::ranges::max_element(candidates, {}, [](const auto& one) {
    return one.second->decoder->speedup;
  });
}

std::string SpeedupOfDecoder(const AdvisedMechanism& one) {
  return RatioText(one.decoder->speedup, one.decoder->speedup_interval);
}

// Says what a decoder that must not wait for its input can have.
std::string OnlineText(const Candidates& candidates) {
  Candidates online;
  std::ranges::copy_if(
      candidates, std::back_inserter(online),
      [](const auto& one) { return one.second->latency.has_value(); });
  if (online.empty()) return "";
  const AdvisedMechanism& best = *BestOf(online).second;
  return fmt::format(" Of those that decode online the best is {} with {}.",
                     best.mechanism, SpeedupOfDecoder(best));
}

// A gain that would be worth another attention.
constexpr double kWorthIt = 1.05;

std::string Conclusion(const Candidates& candidates, const ResultCell& soft,
                       const std::optional<double>& attention_share) {
  const std::string share =
      fmt::format("Soft attention takes {} of the decoder's time.",
                  PercentText(attention_share));
  if (candidates.empty()) {
    return "Nothing can be said: no other mechanism was timed while it read "
           "the memory as a trained one does. " +
           share;
  }
  const auto [cell, best] = BestOf(candidates);
  const std::string online = best->latency ? "" : OnlineText(candidates);
  // The best of several is to be no more often better by chance.
  const double miss = kMiss / static_cast<double>(candidates.size());
  const auto sure = SpeedupOf(*cell, soft, miss);
  if (sure && sure->interval.low > 1) {
    return fmt::format(
        "It pays: the whole decoder is {} as fast with {} as with soft "
        "attention.{} {}",
        SpeedupOfDecoder(*best), best->mechanism, online, share);
  }
  const std::string verdict =
      sure && sure->interval.high < kWorthIt
          ? "It does not pay: no mechanism makes the whole decoder measurably "
            "faster."
          : "It cannot be told: more --repetitions narrow the intervals.";
  return fmt::format("{} The best is {} with {}.{} {}", verdict,
                     best->mechanism, SpeedupOfDecoder(*best), online, share);
}

std::string BreakEvenText(const std::optional<BreakEven>& one) {
  if (!one) return kNoValue;
  if (!one->above) return fmt::format("below {}", *one->below);
  if (!one->below) return fmt::format("not up to {}", *one->above);
  return fmt::format("about {:.0f}", *one->about);
}

std::vector<std::string> ColumnsOf(const AdvisedMechanism& one) {
  if (!one.decoder)
    return {one.mechanism, Shortened(one.message.value_or(kNoValue))};
  const auto of = [](const std::optional<AdvisedTime>& time) {
    return time ? TimeText(time->time_ns, time->time_interval_ns) : kNoValue;
  };
  const auto speedup = [](const std::optional<AdvisedTime>& time) {
    return time ? RatioText(time->speedup, time->speedup_interval) : kNoValue;
  };
  const bool is_marked = one.attention && !one.is_as_trained;
  return {one.mechanism,
          of(one.attention),
          speedup(one.attention) + (is_marked ? " *" : ""),
          of(one.decoder),
          speedup(one.decoder) + (is_marked ? " *" : ""),
          one.latency ? fmt::format("{:.2f}", one.latency->ap) : kNoValue,
          one.latency ? Digits(one.latency->dal) : kNoValue,
          one.energies_per_output ? Digits(*one.energies_per_output) : kNoValue,
          BreakEvenText(one.break_even)};
}

std::string ModelText(const AdvisedModel& model) {
  return fmt::format(
      "{}: its decoding by the threshold reads {} of the memory and leaves {} "
      "of its outputs without a context{}\n",
      model.text, PercentText(model.memory_read),
      PercentText(model.zero_contexts),
      model.latency ? fmt::format("; AP {:.2f}, DAL {:.1f} entries",
                                  model.latency->ap, model.latency->dal)
                    : "");
}

}  // namespace

SweepRequest AdviceRequest(const AdvisedShape& shape) {
  SweepRequest request;
  request.name = "advise";
  request.axes = {{"scope", {"decoder"}},
                  {"workload", {fmt::format("copy:{:.4g}", shape.memory_read)}},
                  {"batch", {1}},
                  {"dim", {shape.dim}},
                  {"beam", {shape.beam}},
                  {"vocabulary", {shape.vocabulary}},
                  {"layers", {shape.layers}},
                  {"encoder", {shape.encoder}},
                  {"energy", {shape.energy}},
                  {"chunk_width", {shape.chunk_width}},
                  {"num_contexts", {shape.num_contexts}}};
  for (const std::int64_t length : LengthsOf(shape)) {
    for (const std::string& mechanism : CellMechanismNames()) {
      request.alternatives.push_back(
          {mechanism,
           {{"memory_length", {kAskedOverLength * length}},
            {"output_length", {kAskedOverLength * OutputsAt(length, shape)}}},
           {}});
    }
  }
  return request;
}

Advice AdviceOf(const SweepResult& result, const AdvisedShape& shape) {
  Advice advice;
  advice.context = result.context;
  advice.shape = shape;
  advice.lengths = LengthsOf(shape);
  const SoftCells soft = SoftCellsOf(result, advice.lengths);
  const ResultCell& base = *soft.at(shape.memory_length);
  std::vector<const ResultCell*> cells;
  for (const ResultCell& cell : result.cells) {
    if (!IsAt(cell, shape.memory_length)) continue;
    cells.push_back(&cell);
    AdvisedMechanism& one = advice.mechanisms.emplace_back(
        MechanismOf(cell, base, shape.memory_read));
    if (!one.attention) continue;
    if (cell.mechanism == kSoftAttention) {
      advice.attention_share = one.attention->time_ns / one.decoder->time_ns;
    } else if (one.is_as_trained) {
      one.break_even = BreakEvenOf(RatiosOf(cell.mechanism, result, soft));
    }
  }
  Candidates candidates;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] == &base || !advice.mechanisms[i].is_as_trained) continue;
    candidates.emplace_back(cells[i], &advice.mechanisms[i]);
  }
  advice.conclusion = Conclusion(candidates, base, advice.attention_share);
  return advice;
}

std::string AdviceText(const Advice& advice) {
  const AdvisedShape& shape = advice.shape;
  std::string text = ValidityLines(advice.context);
  if (advice.model) text += ModelText(*advice.model);
  text += fmt::format(
      "T = {}, U = {}, d = {}, beam {}, {} symbols, {} LSTM layers, {} "
      "energies, encoder {}; one sequence, one thread, random weights whose "
      "scans read {} memory\n",
      shape.memory_length, shape.output_length, shape.dim, shape.beam,
      shape.vocabulary, shape.layers, shape.energy, shape.encoder,
      shape.memory_read == 1 ? "the whole"
                             : PercentText(shape.memory_read) + " of the");
  std::vector<std::vector<std::string>> columns = {
      {"mechanism", "attention", "speed-up", "whole decoder", "speed-up", "AP",
       "DAL", "energies", "faster from T ="}};
  bool is_marked = false;
  for (const AdvisedMechanism& one : advice.mechanisms) {
    columns.push_back(ColumnsOf(one));
    is_marked = is_marked || (one.attention && !one.is_as_trained);
  }
  for (const std::string& line : Aligned(columns)) text += line + "\n";
  text +=
      "speed-up: soft attention's time over this one's, in the same rounds; "
      "[ ]: 95 % interval\n"
      "AP, DAL: mean share of the memory read before an output, and entries "
      "behind a decoder that keeps pace; -: all of it is read first\n"
      "energies: of an output; faster from T: attention alone, with U in "
      "proportion to T\n"
      "none: the decoder without attention; no attention can gain more\n";
  if (is_marked) {
    text += fmt::format(
        "*: under {:.0f} % of the memory was read, or over {:.0f} % of the "
        "outputs had no context: faster than trained weights would be\n",
        100 * kLeastRead * shape.memory_read, 100 * kMostZeroContexts);
  }
  return text + advice.conclusion + "\n";
}

}  // namespace attnbench
