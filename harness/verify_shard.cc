#include "harness/verify_shard.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>

#include "harness/environment.h"
#include "harness/error.h"
#include "harness/result_schema.h"

namespace attnbench {
namespace {

// JSON has neither infinity nor NaN; a defect that gives them must come out of
// a merge as it came out of the run.
Json NumberJson(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

double NumberOf(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  if (text == "inf") return infinity;
  if (text == "-inf") return -infinity;
  throw UserError("cases", fmt::format("'{}' is no number", text));
}

Json ComparisonJson(const Comparison& one) {
  return {{"row", one.row},
          {"column", one.column},
          {"previous", one.previous},
          {"expected", NumberJson(one.expected)},
          {"seen", NumberJson(one.seen)},
          {"p_value", one.p_value}};
}

Comparison ComparisonOf(const Json& json) {
  return {.row = json.at("row").get<Index>(),
          .column = json.at("column").get<Index>(),
          .previous = json.at("previous").get<Index>(),
          .expected = NumberOf(json.at("expected")),
          .seen = NumberOf(json.at("seen")),
          .p_value = json.at("p_value").get<double>()};
}

Json MeanJson(const SampleMean& mean) {
  return {{"trials", mean.trials},
          {"mean", NumberJson(mean.mean)},
          {"variance", NumberJson(mean.variance)},
          {"low", NumberJson(mean.low)},
          {"high", NumberJson(mean.high)},
          {"in_range", mean.in_range}};
}

SampleMean MeanOf(const Json& json) {
  return {.trials = json.at("trials").get<std::int64_t>(),
          .mean = NumberOf(json.at("mean")),
          .variance = NumberOf(json.at("variance")),
          .low = NumberOf(json.at("low")),
          .high = NumberOf(json.at("high")),
          .in_range = json.at("in_range").get<bool>()};
}

VerifyMethod MethodOf(const std::string& name) {
  for (const VerifyMethod method :
       {VerifyMethod::kExact, VerifyMethod::kEnumeration,
        VerifyMethod::kSampling}) {
    if (MethodName(method) == name) return method;
  }
  throw UserError("method", fmt::format("there is no method '{}'", name));
}

Json CaseJson(const CaseReport& report) {
  const VerifyCase& one = report.verify_case;
  Json json = {{"mechanism", one.mechanism},
               {"case", one.name},
               {"method", MethodName(one.method)},
               {"scores", one.scores},
               {"from_states", one.from_states},
               {"memory_length", one.memory_length},
               {"output_length", one.output_length},
               {"trials", report.trials},
               {"quantities", Json::array()},
               {"chi_square", nullptr},
               {"failure", nullptr}};
  for (const Quantity& quantity : report.quantities) {
    json["quantities"].push_back(ShardJson(quantity));
  }
  if (report.chi_square) {
    json["chi_square"] = {
        {"statistic", NumberJson(report.chi_square->statistic)},
        {"terms", report.chi_square->terms}};
  }
  if (report.failure) json["failure"] = *report.failure;
  return json;
}

CaseReport CaseOf(const Json& json) {
  CaseReport report;
  VerifyCase& one = report.verify_case;
  one.mechanism = json.at("mechanism").get<std::string>();
  one.name = json.at("case").get<std::string>();
  one.method = MethodOf(json.at("method").get<std::string>());
  one.scores = json.at("scores").get<std::string>();
  one.from_states = json.at("from_states").get<bool>();
  one.memory_length = json.at("memory_length").get<Index>();
  one.output_length = json.at("output_length").get<Index>();
  report.trials = json.at("trials").get<std::int64_t>();
  for (const Json& quantity : json.at("quantities")) {
    report.quantities.push_back(QuantityOfShard(quantity));
  }
  if (const Json& chi_square = json.at("chi_square"); !chi_square.is_null()) {
    report.chi_square = {.statistic = NumberOf(chi_square.at("statistic")),
                         .terms = chi_square.at("terms").get<std::int64_t>()};
  }
  if (const Json& failure = json.at("failure"); !failure.is_null()) {
    report.failure = failure.get<std::string>();
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
  return fmt::format("{:016x}", hash.hash());
}

// A file as far as it is looked at to find its place.
struct Part {
  const ResultDocument* file = nullptr;
  Shard shard;
  std::vector<CaseReport> reports;
};

Part PartOf(const ResultDocument& file) {
  const Json& document = file.json;
  try {
    if (document.at("kind") != kVerifyShardKind ||
        document.at("schema_version") != kSchemaVersion) {
      throw UserError(file.path, "is no shard of attnbench verify");
    }
    Part part{&file, ParseShard(document.at("shard").get<std::string>()), {}};
    for (const Json& one : document.at("cases")) {
      part.reports.push_back(CaseOf(one));
    }
    const auto num_cases = document.at("num_cases").get<std::size_t>();
    const std::size_t wanted = part.shard.NumberOf(num_cases);
    if (part.reports.size() != wanted) {
      throw UserError(file.path,
                      fmt::format("has {} cases; shard {} of {} cases has {}",
                                  part.reports.size(), part.shard.Text(),
                                  num_cases, wanted));
    }
    return part;
  } catch (const Json::exception& error) {
    throw UserError(
        file.path,
        fmt::format("is no shard of attnbench verify: {}", error.what()));
  }
}

// What all shards of one run have in common.
void CheckSameRun(const Json& first, const ResultDocument& other,
                  const std::string& first_path) {
  const auto check = [&](const char* name, const Json& a, const Json& b) {
    if (a == b) return;
    throw UserError(other.path,
                    fmt::format("is of another run than {}: {} is {} there, {} "
                                "here",
                                first_path, name, a.dump(), b.dump()));
  };
  for (const char* name : {"false_alarm_rate", "trials", "num_cases",
                           "cases_hash", "not_verified"}) {
    check(name, first.at(name), other.json.at(name));
  }
  for (const char* name : {"commit", "build_id", "seed"}) {
    check(name, first.at("context").at(name),
          other.json.at("context").at(name));
  }
}

std::string MissingText(const std::map<std::int64_t, Part>& parts,
                        std::int64_t count) {
  std::vector<std::string> missing;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!parts.contains(i)) missing.push_back(Shard{i, count}.Text());
  }
  if (missing.empty()) return "";
  return fmt::format("shard{} {} {} missing", missing.size() == 1 ? "" : "s",
                     fmt::join(missing, ", "),
                     missing.size() == 1 ? "is" : "are");
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
               {"largest_error", NumberJson(quantity.largest_error_)},
               {"hardest_count", nullptr},
               {"hardest_mean", nullptr}};
  if (quantity.hardest_count_) {
    json["hardest_count"] = NumberJson(*quantity.hardest_count_);
  }
  if (quantity.hardest_mean_) {
    json["hardest_mean"] = MeanJson(*quantity.hardest_mean_);
  }
  return json;
}

Quantity QuantityOfShard(const Json& json) {
  Quantity quantity;
  quantity.what_ = json.at("what").get<std::string>();
  quantity.exact_ = json.at("exact").get<bool>();
  quantity.tolerance_ = json.at("tolerance").get<double>();
  quantity.trials_ = json.at("trials").get<std::int64_t>();
  quantity.comparisons_ = json.at("comparisons").get<std::int64_t>();
  quantity.p_values_ = json.at("p_values").get<std::vector<double>>();
  quantity.worst_ = ComparisonOf(json.at("worst"));
  quantity.largest_error_ = NumberOf(json.at("largest_error"));
  if (const Json& count = json.at("hardest_count"); !count.is_null()) {
    quantity.hardest_count_ = NumberOf(count);
  }
  if (const Json& mean = json.at("hardest_mean"); !mean.is_null()) {
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
    CheckSameRun(first.json, file, first.path);
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
  merged.run = {
      .context = first.json.at("context"),
      .false_alarm_rate = first.json.at("false_alarm_rate").get<double>(),
      .trials = first.json.at("trials").get<std::int64_t>(),
      .not_verified = first.json.at("not_verified")};
  merged.missing = MissingText(parts, count);
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
