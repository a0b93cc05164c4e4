#include "harness/results/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/base/printable.h"

namespace attnbench {
namespace {

void Want(bool is_so, const ResultCell& cell, const char* has,
          const char* member, const Place& place) {
  if (is_so) return;
  FailAt(place,
         fmt::format("is {} and {} {}", NameOf(cell.status), has, member));
}

// The attention of a whole decoder has a sample for each of the whole, and none
// without attention.
void CheckAttention(const ResultCell& cell, const Place& place) {
  const DecoderFigures& decoder = *cell.decoder;
  const bool has_attention = cell.mechanism != kNoAttention;
  const std::size_t wanted = has_attention ? cell.samples_ns.size() : 0;
  if (decoder.attention_samples_ns.size() != wanted) {
    FailAt(place,
           fmt::format("decoder.attention_samples_ns has {}, it "
                       "must have {}",
                       Counted(decoder.attention_samples_ns.size(), "sample"),
                       wanted));
  }
  const std::pair<bool, const char*> figures[] = {
      {decoder.reads.has_value(), "reads"},
      {decoder.attention_median_ns.has_value(), "attention_median_ns"}};
  for (const auto& [is_there, name] : figures) {
    if (is_there == has_attention) continue;
    FailAt(place, fmt::format("mechanism {} {} decoder.{}", cell.mechanism,
                              is_there ? "has" : "has no", name));
  }
}

}  // namespace

ResultCell FailedCell(const Cell& cell, CellStatus status,
                      const std::string& message) {
  ResultCell failed;
  static_cast<CellIdentity&>(failed) = cell;
  failed.status = status;
  failed.message = message;
  return failed;
}

void CheckSamples(const std::vector<double>& samples, std::int64_t processes,
                  const char* list, const Place& place) {
  if (samples.size() % static_cast<std::size_t>(processes) != 0) {
    FailAt(place,
           fmt::format("{} has {} of {} processes: not equally "
                       "many of each",
                       list, Counted(samples.size(), "sample"), processes));
  }
  for (const double sample : samples) {
    if (!(sample > 0)) {
      FailAt(place, fmt::format("{} has {}, it must be above 0", list, sample));
    }
  }
}

void CheckCell(const ResultCell& cell, const Place& place) {
  const auto has = [&](bool is_so, const char* member) {
    Want(is_so, cell, "has no", member, place);
  };
  const auto has_no = [&](bool is_so, const char* member) {
    Want(!is_so, cell, "has", member, place);
  };
  const bool is_whole = IsWholeDecoder(cell.axes);
  for (const Axis& axis : AllAxes()) {
    if (!axis.of_decoder) continue;
    const bool has_it = !cell.axes.at(axis.name).is_null();
    if (has_it == is_whole) continue;
    FailAt(place, fmt::format("has scope {} and {} {}", cell.Text("scope"),
                              has_it ? "has" : "has no", axis.name));
  }
  CheckSamples(cell.samples_ns, cell.processes, "samples_ns", place);
  if (cell.processes % cell.builds != 0) {
    FailAt(place, fmt::format("has {} processes of {} builds: not equally many "
                              "of each",
                              cell.processes, cell.builds));
  }
  if (cell.is_ok()) {
    has(!cell.samples_ns.empty(), "samples_ns");
    has(cell.trials_per_sample.has_value(), "trials_per_sample");
    has(cell.median_ns.has_value(), "median_ns");
    // A round alone has no interval.
    has(cell.interval_ns || cell.samples_ns.size() == 1, "interval_ns");
    has(cell.spread.has_value(), "spread");
    has(cell.numerics.has_value(), "numerics");
    const auto& [error, bound] =
        std::tie(cell.numerics->error, cell.numerics->error_bound);
    if (error && bound && !(*error <= *bound)) {
      FailAt(place, fmt::format("is ok and numerics.error {} is above "
                                "numerics.error_bound {}",
                                *error, *bound));
    }
    if (is_whole) {
      has_no(cell.operations.has_value(), "operations");
      has(cell.decoder.has_value(), "decoder");
      CheckAttention(cell, place);
      return;
    }
    has(cell.operations.has_value(), "operations");
    has_no(cell.decoder.has_value(), "decoder");
    // Only decoding has a part that is done once for a memory.
    has(cell.mode() != Mode::kDecode || cell.prepare_ns, "prepare_ns");
    return;
  }
  has(cell.message.has_value(), "message");
  has_no(!cell.samples_ns.empty(), "samples_ns");
  has_no(!cell.draw_ns.empty(), "draw_ns");
  has_no(cell.median_ns.has_value(), "median_ns");
  has_no(cell.interval_ns.has_value(), "interval_ns");
  has_no(cell.least_ns.has_value(), "least_ns");
  has_no(cell.prepare_ns.has_value(), "prepare_ns");
  has_no(cell.spread.has_value(), "spread");
  has_no(cell.limit.has_value(), "limit");
  has_no(cell.instructions.has_value(), "instructions");
  has_no(cell.latency.has_value(), "latency");
  has_no(cell.decoder.has_value(), "decoder");
}

Json CellConditions() {
  const Json null = {{"type", "null"}};
  const Json not_null = {{"not", null}};
  Json measured = Json::object();
  for (const char* name :
       {"trials_per_sample", "median_ns", "spread", "numerics"}) {
    measured[name] = not_null;
  }
  measured["samples_ns"] = {{"minItems", 1}};
  const Json without_decoder = {{"not", {{"required", {"decoder"}}}}};
  Json attention = without_decoder;
  attention["properties"] = {{"operations", not_null}};
  attention["if"] = {{"properties", {{"mode", {{"const", "decode"}}}}}};
  attention["then"] = {{"properties", {{"prepare_ns", not_null}}}};
  const Json ok = {
      {"properties", measured},
      {"if", {{"properties", {{"scope", {{"const", "decoder"}}}}}}},
      {"then",
       {{"required", {"decoder", "beam", "vocabulary"}},
        {"properties", {{"operations", null}}}}},
      {"else", attention}};
  const Json unmeasured = {{"message", {{"type", "string"}}},
                           {"samples_ns", {{"maxItems", 0}}},
                           {"draw_ns", {{"maxItems", 0}}},
                           {"median_ns", null},
                           {"interval_ns", null},
                           {"least_ns", null},
                           {"prepare_ns", null},
                           {"spread", null},
                           {"limit", null},
                           {"latency", null}};
  Json failed = without_decoder;
  failed["properties"] = unmeasured;
  document::NameLister identity;
  CellIdentity cell;
  CellIdentity::Fields(cell, identity);
  std::vector<std::string> group = {"point"};
  group.insert(group.end(), std::begin(kGroupAxes), std::end(kGroupAxes));
  return {{"identity", identity.names},
          {"group", group},
          {"if", {{"properties", {{"status", {{"const", "ok"}}}}}}},
          {"then", ok},
          {"else", failed}};
}

void BandFigures::Add(const BandFigures& other) {
  mass_cut = std::max(mass_cut, other.mass_cut);
  reach = std::min(reach, other.reach);
  dense += other.dense;
  if (other.gradient_error > gradient_error) {
    gradient_error = other.gradient_error;
    gradient_size = other.gradient_size;
  }
}

std::vector<std::string> PageFaultWarnings(std::span<const ResultCell> cells) {
  // What moves pages now and then, such as a kernel that balances its nodes,
  // costs a trial no more than this: some 10 us.
  constexpr double kHandful = 16;
  const ResultCell* worst = nullptr;
  std::int64_t number = 0;
  for (const ResultCell& cell : cells) {
    const double faults = cell.page_faults.value_or(0);
    // How a peer keeps its memory is part of what is measured.
    if (faults <= kHandful || IsPeers(cell)) continue;
    ++number;
    if (worst == nullptr || faults > *worst->page_faults) worst = &cell;
  }
  if (worst == nullptr) return {};
  return {fmt::format(
      "{} of {} cells had more than {:.0f} page faults in a trial, {} of point "
      "{} most, {:.0f}: their times are partly those of the system, which "
      "clears pages; free memory (fewer --threads, other programs, ulimit -v) "
      "and measure again",
      number, cells.size(), kHandful, worst->mechanism, worst->point,
      *worst->page_faults)};
}

std::vector<std::string> BandWarnings(std::span<const ResultCell> cells) {
  const ResultCell* worst = nullptr;
  std::int64_t number = 0, all = 0;
  for (const ResultCell& cell : cells) {
    if (!cell.band) continue;
    ++all;
    if (cell.band->reach >= 1) continue;
    ++number;
    if (worst == nullptr || cell.band->reach < worst->band->reach)
      worst = &cell;
  }
  if (worst == nullptr) return {};
  return {fmt::format(
      "in {} of {} banded cells the band ends before the memory does, earliest "
      "in {} at point {}, after {:.3g} % of it: entries behind it get no "
      "gradient; variant exact shows what that costs",
      number, all, worst->mechanism, worst->point, 100 * worst->band->reach)};
}

bool IsPeers(const CellIdentity& cell) {
  const AxisValue& variant = cell.axes.at("variant");
  return !variant.is_null() && variant.text().starts_with("framework");
}

}  // namespace attnbench
