#include "harness/verify_shard.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <set>

#include "harness/environment.h"
#include "harness/error.h"
#include "harness/json_number.h"
#include "harness/result_schema.h"
#include "harness/run_parts.h"

namespace attnbench {
namespace {

// A value of a shard with where it stands, which errors name.
struct Node {
  const Json& json;
  std::string where;  // "0.json: cases[3]", of the document "0.json: "

  [[noreturn]] void Refuse(const std::string& wanted) const {
    throw UserError(where, fmt::format("is {}, {} is wanted",
                                       json.is_structured() ? json.type_name()
                                                            : json.dump(),
                                       wanted));
  }
  Node At(const char* key) const {
    const std::string place = where + (where.ends_with(": ") ? "" : ".") + key;
    if (!json.contains(key)) throw UserError(place, "is missing");
    return {json.at(key), place};
  }
  std::vector<Node> Items() const {
    if (!json.is_array()) Refuse("a list");
    std::vector<Node> items;
    for (std::size_t i = 0; i < json.size(); ++i) {
      items.push_back({json[i], fmt::format("{}[{}]", where, i)});
    }
    return items;
  }
  std::string Text() const {
    if (!json.is_string()) Refuse("a text");
    return json.get<std::string>();
  }
  bool Bool() const {
    if (!json.is_boolean()) Refuse("true or false");
    return json.get<bool>();
  }
  std::int64_t Integer() const {
    if (!json.is_number_integer()) Refuse("a whole number");
    return json.get<std::int64_t>();
  }
  // As NumberOrName writes it: a defect that gives infinity or NaN must come
  // out of a merge as it came out of the run.
  double Number() const {
    if (json.is_number()) return json.get<double>();
    const double infinity = std::numeric_limits<double>::infinity();
    if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (json == "inf") return infinity;
    if (json == "-inf") return -infinity;
    Refuse("a number, \"nan\", \"inf\" or \"-inf\"");
  }
  double Probability() const {
    const double value = json.is_number() ? json.get<double>() : -1;
    if (!(value >= 0 && value <= 1)) Refuse("a number from 0 to 1");
    return value;
  }
};

Json ComparisonJson(const Comparison& one) {
  return {{"row", one.row},
          {"column", one.column},
          {"previous", one.previous},
          {"expected", NumberOrName(one.expected)},
          {"seen", NumberOrName(one.seen)},
          {"p_value", one.p_value}};
}

Comparison ComparisonOf(const Node& node) {
  return {.row = node.At("row").Integer(),
          .column = node.At("column").Integer(),
          .previous = node.At("previous").Integer(),
          .expected = node.At("expected").Number(),
          .seen = node.At("seen").Number(),
          .p_value = node.At("p_value").Probability()};
}

Json MeanJson(const SampleMean& mean) {
  return {{"trials", mean.trials},
          {"mean", NumberOrName(mean.mean)},
          {"variance", NumberOrName(mean.variance)},
          {"low", NumberOrName(mean.low)},
          {"high", NumberOrName(mean.high)},
          {"in_range", mean.in_range}};
}

SampleMean MeanOf(const Node& node) {
  return {.trials = node.At("trials").Integer(),
          .mean = node.At("mean").Number(),
          .variance = node.At("variance").Number(),
          .low = node.At("low").Number(),
          .high = node.At("high").Number(),
          .in_range = node.At("in_range").Bool()};
}

VerifyMethod MethodOf(const Node& node) {
  for (const VerifyMethod method :
       {VerifyMethod::kExact, VerifyMethod::kEnumeration,
        VerifyMethod::kSampling}) {
    if (MethodName(method) == node.Text()) return method;
  }
  node.Refuse("exact, enumeration or sampling");
}

Json CaseJson(const CaseReport& report) {
  Json json = report.HeadJson();
  json["quantities"] = Json::array();
  for (const Quantity& quantity : report.quantities) {
    json["quantities"].push_back(ShardJson(quantity));
  }
  json["chi_square"] = nullptr;
  if (report.chi_square) {
    json["chi_square"] = {
        {"statistic", NumberOrName(report.chi_square->statistic)},
        {"terms", report.chi_square->terms}};
  }
  json["failure"] = report.failure ? Json(*report.failure) : Json(nullptr);
  return json;
}

CaseReport CaseOf(const Node& node) {
  CaseReport report;
  VerifyCase& one = report.verify_case;
  one.mechanism = node.At("mechanism").Text();
  one.name = node.At("case").Text();
  one.method = MethodOf(node.At("method"));
  one.scores = node.At("scores").Text();
  one.from_states = node.At("from_states").Bool();
  one.memory_length = node.At("memory_length").Integer();
  one.output_length = node.At("output_length").Integer();
  report.trials = node.At("trials").Integer();
  for (const Node& quantity : node.At("quantities").Items()) {
    report.quantities.push_back(QuantityOfShard(quantity.json, quantity.where));
  }
  if (const Node chi_square = node.At("chi_square");
      !chi_square.json.is_null()) {
    report.chi_square = {.statistic = chi_square.At("statistic").Number(),
                         .terms = chi_square.At("terms").Integer()};
  }
  if (const Node failure = node.At("failure"); !failure.json.is_null()) {
    report.failure = failure.Text();
  }
  return report;
}

// Tells the grids of other mechanisms or sizes apart.
std::string HashOf(const std::vector<VerifyCase>& cases) {
  Fnv1a hash;
  for (const VerifyCase& one : cases) {
    hash.Add(fmt::format("{} {} {}\n", one.mechanism, MethodName(one.method),
                         one.name));
  }
  return hash.Hex();
}

// A file as far as it is looked at to find its place.
struct Part {
  const ResultDocument* file = nullptr;
  Shard shard;
  std::vector<CaseReport> reports;
};

Part PartOf(const ResultDocument& file) {
  const Json& document = file.json;
  if (!document.is_object() ||
      document.value("kind", Json()) != kVerifyShardKind ||
      document.value("schema_version", Json()) != kSchemaVersion) {
    throw UserError(file.path, "is no shard of attnbench verify");
  }
  const Node node{document, file.path + ": "};
  const Node shard = node.At("shard");
  Part part{&file, ShardOf(shard.Text(), file.path), {}};
  for (const Node& one : node.At("cases").Items()) {
    part.reports.push_back(CaseOf(one));
  }
  const Node cases_node = node.At("num_cases");
  const std::int64_t num_cases = cases_node.Integer();
  if (num_cases < 1) cases_node.Refuse("at least 1");
  const std::size_t wanted =
      part.shard.NumberOf(static_cast<std::size_t>(num_cases));
  if (part.reports.size() != wanted) {
    throw UserError(
        file.path,
        fmt::format("has {} cases; shard {} of {} cases has {}",
                    part.reports.size(), part.shard.Text(), num_cases, wanted));
  }
  return part;
}

}  // namespace

Json ShardJson(const Quantity& quantity) {
  Json json = {{"what", quantity.what_},
               {"exact", quantity.exact_},
               {"tolerance", quantity.tolerance_},
               {"trials", quantity.trials_},
               {"comparisons", quantity.comparisons_},
               {"p_values", quantity.p_values_},
               {"worst", ComparisonJson(quantity.worst_)},
               {"largest_error", NumberOrName(quantity.largest_error_)},
               {"hardest_count", nullptr},
               {"hardest_mean", nullptr}};
  if (quantity.hardest_count_) {
    json["hardest_count"] = NumberOrName(*quantity.hardest_count_);
  }
  if (quantity.hardest_mean_) {
    json["hardest_mean"] = MeanJson(*quantity.hardest_mean_);
  }
  return json;
}

Quantity QuantityOfShard(const Json& json, const std::string& where) {
  const Node node{json, where};
  Quantity quantity;
  quantity.what_ = node.At("what").Text();
  quantity.exact_ = node.At("exact").Bool();
  quantity.tolerance_ = node.At("tolerance").Number();
  quantity.trials_ = node.At("trials").Integer();
  quantity.comparisons_ = node.At("comparisons").Integer();
  for (const Node& p_value : node.At("p_values").Items()) {
    quantity.p_values_.push_back(p_value.Probability());
  }
  quantity.worst_ = ComparisonOf(node.At("worst"));
  quantity.largest_error_ = node.At("largest_error").Number();
  if (const Node count = node.At("hardest_count"); !count.json.is_null()) {
    quantity.hardest_count_ = count.Number();
  }
  if (const Node mean = node.At("hardest_mean"); !mean.json.is_null()) {
    quantity.hardest_mean_ = MeanOf(mean);
  }
  return quantity;
}

Json VerifyShardDocument(const std::vector<CaseReport>& reports,
                         const VerifyRun& run, const Shard& shard,
                         const std::vector<VerifyCase>& cases) {
  Json document = {{"schema_version", kSchemaVersion},
                   {"kind", kVerifyShardKind},
                   {"context", run.context},
                   {"shard", shard.Text()},
                   {"num_cases", cases.size()},
                   {"cases_hash", HashOf(cases)},
                   {"false_alarm_rate", run.false_alarm_rate},
                   {"trials", run.trials},
                   {"not_verified", run.not_verified},
                   {"cases", Json::array()}};
  for (const CaseReport& report : reports) {
    document["cases"].push_back(CaseJson(report));
  }
  return document;
}

MergedVerify MergeVerifyShards(const std::vector<ResultDocument>& files) {
  std::map<std::int64_t, Part> parts;  // by shard
  const ResultDocument& first = files.at(0);
  for (const ResultDocument& file : files) {
    Part part = PartOf(file);
    CheckSameRun(first, file,
                 {"/false_alarm_rate", "/trials", "/num_cases", "/cases_hash",
                  "/not_verified", "/context/commit", "/context/build_id",
                  "/context/seed", "/context/simd"});
    const std::int64_t count =
        parts.empty() ? part.shard.count : parts.begin()->second.shard.count;
    if (part.shard.count != count) {
      throw UserError(file.path,
                      fmt::format("is shard {}; {} is one of {}",
                                  part.shard.Text(), first.path, count));
    }
    const std::int64_t index = part.shard.index;
    const auto [place, is_new] = parts.emplace(index, std::move(part));
    if (is_new) continue;
    throw UserError(file.path, fmt::format("is shard {}, as {} is",
                                           place->second.shard.Text(),
                                           place->second.file->path));
  }
  const std::int64_t count = parts.begin()->second.shard.count;
  MergedVerify merged;
  const Node node{first.json, first.path + ": "};
  static_cast<void>(node.At("context").At("warnings").Items());
  merged.run = {.context = first.json.at("context"),
                .false_alarm_rate = node.At("false_alarm_rate").Probability(),
                .trials = node.At("trials").Integer(),
                .not_verified = first.json.at("not_verified")};
  std::set<std::int64_t> there;
  for (const auto& [index, part] : parts) {
    there.insert(index);
    for (const std::string& text :
         DifferenceTexts(first.path, first.json.at("context"),
                         part.file->json.at("context"))) {
      merged.run.context["warnings"].push_back(part.file->path + ": " + text);
    }
  }
  merged.missing = MissingShardsText(there, count);
  if (!merged.missing.empty()) return merged;
  const auto num_cases = first.json.at("num_cases").get<std::size_t>();
  merged.reports.resize(num_cases);
  for (auto& [index, part] : parts) {
    std::size_t next = 0;
    for (const std::size_t n : part.shard.Indices(num_cases)) {
      merged.reports[n] = std::move(part.reports[next++]);
    }
  }
  JudgeAll(merged.run.false_alarm_rate, merged.reports);
  return merged;
}

}  // namespace attnbench
