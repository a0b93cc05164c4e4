#include "harness/result_schema.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "harness/json_schema.h"

namespace attnbench {
namespace {

using json_schema::AtLeastZero;
using json_schema::ListOf;
using json_schema::MapOf;
using json_schema::NullOr;
using json_schema::OrNull;
using json_schema::Record;
using json_schema::Type;

// What MeasureLimits made, for one precision and number of threads.
Json LimitsSchema() {
  const Json positive = {{"type", "number"}, {"exclusiveMinimum", 0}};
  Json samples = ListOf(positive);
  samples["minItems"] = 1;
  const Json level =
      Record({{"name", {{"type", "string"}, {"pattern", "^(L[1-9]|DRAM)$"}}},
              {"size_bytes", NullOr(AtLeastZero("integer"))},
              {"array_bytes", AtLeastZero("integer")},
              {"read_bytes_per_s", positive},
              {"copy_bytes_per_s", positive},
              {"read_samples", samples},
              {"copy_samples", samples}});
  return Record({{"precision", {{"enum", {"f32", "f64"}}}},
                 {"threads", {{"type", "integer"}, {"minimum", 1}}},
                 {"peak_flops_per_s", positive},
                 {"peak_samples", samples},
                 {"levels", ListOf(level)}});
}

Json LimitSchema() {
  return Record(
      {{"bound", {{"type", "string"}, {"pattern", "^(compute|L[1-9]|DRAM)$"}}},
       {"limit_ns", AtLeastZero("number")},
       {"fraction", AtLeastZero("number")},
       {"working_set_bytes", AtLeastZero("integer")}});
}

// What a name with a parameter looks like, "bias:R" and the like.
std::string TextPattern(const std::vector<std::string>& names) {
  std::string pattern;
  for (const std::string& name : names) {
    const std::size_t colon = name.find(':');
    const bool has_parameter = colon != std::string::npos;
    pattern += pattern.empty() ? "^(" : "|";
    pattern += has_parameter ? name.substr(0, colon + 1) + ".+" : name;
  }
  return pattern + ")$";
}

Json AxisSchema(const Axis& axis) {
  Json any = Json::array();
  if (axis.type == AxisType::kInteger) {
    any.push_back({{"type", "integer"},
                   {"minimum", axis.least},
                   {"maximum", axis.greatest}});
    if (axis.allow_infinite) any.push_back({{"const", "inf"}});
  } else if (axis.type == AxisType::kName) {
    any.push_back({{"enum", axis.names}});
    if (!axis.other_names.empty()) {
      any.push_back({{"type", "string"}, {"pattern", axis.other_names}});
    }
  } else {
    any.push_back({{"type", "string"}, {"pattern", TextPattern(axis.names)}});
  }
  if (axis.declared) any.push_back(Type("null"));
  Json schema = any.size() == 1 ? any[0] : Json{{"anyOf", any}};
  schema["description"] = axis.help;
  return schema;
}

Json PointSchema() {
  return {{"type", "string"}, {"pattern", "^[0-9a-f]{16}$"}};
}

// What CalibrationJson made, for each point.
Json CalibrationSchema() {
  const Json positive = {{"type", "number"}, {"exclusiveMinimum", 0}};
  Json samples = ListOf(positive);
  samples["minItems"] = 1;
  return ListOf(Record({{"point", PointSchema()},
                        {"samples_ns", samples},
                        {"median_ns", positive},
                        {"deviation", AtLeastZero("number")}}));
}

constexpr char kAtStart[] = "in half a second before anything was measured";
constexpr char kWhileMeasured[] =
    "while it measured, where they had most: over at least half a second, "
    "between the ends of points";

// What LoadWatch has seen (load_watch.h).
Json LoadSchema(const char* when) {
  Json schema = OrNull("number");
  schema["description"] = fmt::format(
      "CPUs that other programs kept busy {}; null: not known, or nothing was "
      "timed",
      when);
  return schema;
}

// What RunEntry made, for each run; "file" and "differs" of those that merge
// has put together.
Json RunsSchema() {
  const Json texts = ListOf(Type("string"));
  const Json limit = NullOr({{"type", "integer"}, {"minimum", 1}});
  Json run = Record({{"date", Type("string")},
                     {"command", Type("string")},
                     {"cell_limit_s", limit},
                     {"load", LoadSchema(kAtStart)},
                     {"load_end", LoadSchema(kWhileMeasured)},
                     {"invalid_reasons", texts},
                     {"warnings", texts},
                     {"points", ListOf(PointSchema())}});
  // Results from before it are results.
  run["properties"]["peer_limit_s"] = limit;
  run["properties"]["file"] = Type("string");
  run["properties"]["differs"] = Type("object");
  return ListOf(std::move(run));
}

Json ContextSchema() {
  Json context = Record(
      {{"commit", Type("string")},
       {"dirty", OrNull("boolean")},
       {"build_id", Type("string")},
       {"command", Type("string")},
       {"date", Type("string")},
       {"seed", AtLeastZero("integer")},
       {"compiler", Type("string")},
       {"flags", Type("string")},
       {"build_type", Type("string")},
       {"cpu", Type("string")},
       {"caches", ListOf(Type("string"))},
       {"cores", AtLeastZero("integer")},
       {"affinity", OrNull("string")},
       {"memory_bytes", OrNull("integer")},
       {"kernel", OrNull("string")},
       {"governor", OrNull("string")},
       {"turbo", OrNull("boolean")},
       {"aslr", {{"enum", {0, 1, 2, nullptr}}}},
       {"load", LoadSchema(kAtStart)},
       {"load_end", LoadSchema(kWhileMeasured)},
       {"simd", Type("string")},
       {"openmp", MapOf({{"type", {"integer", "string", "null"}}})},
       {"libraries", MapOf(Type("string"))},
       {"valid", Type("boolean")},
       {"invalid_reasons", ListOf(Type("string"))},
       {"warnings", ListOf(Type("string"))},
       {"points", ListOf(PointSchema())},
       {"shard",
        NullOr({{"type", "string"}, {"pattern", "^[0-9]+/[1-9][0-9]*$"}})},
       {"limits", ListOf(LimitsSchema())},
       {"calibration", CalibrationSchema()}});
  // Not wanted: results from before have none.
  context["properties"]["runs"] = RunsSchema();
  return context;
}

Json OperationsSchema() {
  return Record({{"energies", AtLeastZero("number")},
                 {"chunk_energies", AtLeastZero("number")},
                 {"memory_rows", AtLeastZero("number")},
                 {"flops", AtLeastZero("number")},
                 {"bytes", AtLeastZero("number")}});
}

// AL is below 0 where outputs come before their share of the input.
Json LatencySchema() {
  Json share = AtLeastZero("number");
  share["maximum"] = 1;
  return Record({{"ap", share},
                 {"al", Type("number")},
                 {"laal", Type("number")},
                 {"dal", AtLeastZero("number")}});
}

Json NumericsSchema() {
  return Record({{"attention_mass", OrNull("number")},
                 {"context_sum", OrNull("number")},
                 {"context_l2", OrNull("number")},
                 {"error", OrNull("number")},
                 {"error_bound", OrNull("number")}});
}

Json SpreadSchema() {
  return Record({{"rounds", OrNull("number")},
                 {"processes", OrNull("number")},
                 {"draws", OrNull("number")},
                 {"outliers", AtLeastZero("integer")},
                 {"drift", OrNull("number")},
                 {"drift_p", OrNull("number")}});
}

Json CellSchema(const AxisTable& table) {
  Json properties = {{"mechanism", {{"type", "string"}, {"minLength", 1}}}};
  for (const Axis& axis : table) properties[axis.name] = AxisSchema(axis);
  properties["options"] = MapOf({{"type", {"boolean", "number", "string"}}});
  properties["status"] = {
      {"enum", {"ok", "invalid", "error", "timeout", "skipped"}}};
  properties["message"] = OrNull("string");
  properties["samples_ns"] = ListOf(AtLeastZero("number"));
  properties["trials_per_sample"] = NullOr(AtLeastZero("integer"));
  properties["processes"] = {{"type", "integer"}, {"minimum", 1}};
  properties["median_ns"] = NullOr(AtLeastZero("number"));
  Json interval = ListOf(AtLeastZero("number"));
  interval["minItems"] = 2;
  interval["maxItems"] = 2;
  properties["interval_ns"] = NullOr(interval);
  properties["prepare_ns"] = NullOr(AtLeastZero("number"));
  properties["spread"] = NullOr(SpreadSchema());
  properties["prepare_samples_ns"] = ListOf(AtLeastZero("number"));
  properties["draw_ns"] = ListOf(AtLeastZero("number"));
  properties["operations"] = NullOr(OperationsSchema());
  properties["peak_memory_bytes"] = NullOr(AtLeastZero("integer"));
  properties["limit"] = NullOr(LimitSchema());
  properties["numerics"] = NullOr(NumericsSchema());
  properties["point"] = PointSchema();
  Json cell = Record(std::move(properties));
  // Results from before there was such a field do not have it.
  cell["properties"]["latency"] = NullOr(LatencySchema());
  return cell;
}

// A cell that is `ok` has every figure of its mode; one that is not has no time
// at all, so that nobody takes a wrong output's speed for a result.
Json TimesOnlyWhereOk() {
  const Json not_null = {{"not", Type("null")}};
  Json measured = Json::object();
  for (const char* name : {"trials_per_sample", "median_ns", "interval_ns",
                           "operations", "spread", "numerics"}) {
    measured[name] = not_null;
  }
  measured["samples_ns"] = {{"minItems", 1}};
  Json ok = {{"properties", measured}};
  // Only decoding has a part that is done once for a memory.
  ok["if"] = {{"properties", {{"mode", {{"const", "decode"}}}}}};
  ok["then"] = {{"properties", {{"prepare_ns", not_null}}}};
  const Json unmeasured = {
      {"message", Type("string")},    {"samples_ns", {{"maxItems", 0}}},
      {"draw_ns", {{"maxItems", 0}}}, {"median_ns", Type("null")},
      {"interval_ns", Type("null")},  {"prepare_ns", Type("null")},
      {"spread", Type("null")},       {"limit", Type("null")},
      {"latency", Type("null")}};
  return {{"if", {{"properties", {{"status", {{"const", "ok"}}}}}}},
          {"then", ok},
          {"else", {{"properties", unmeasured}}}};
}

}  // namespace

Json ResultSchema(const AxisTable& table) {
  Json cell = CellSchema(table);
  cell.update(TimesOnlyWhereOk());
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "Result of a sweep of attnbench"}};
  schema.update(Record({{"schema_version", {{"const", kSchemaVersion}}},
                        {"kind", {{"const", "sweep"}}},
                        {"context", ContextSchema()},
                        {"cells", ListOf(std::move(cell))}}));
  return schema;
}

std::string ResultSchemaText(const AxisTable& table) {
  return ResultSchema(table).dump(2) + "\n";
}

}  // namespace attnbench
