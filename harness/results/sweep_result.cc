#include "harness/results/sweep_result.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "harness/base/error.h"
#include "harness/base/json_file.h"
#include "harness/base/printable.h"

namespace attnbench {
namespace {

void CheckPointsAreWhole(const SweepResult& result, const std::string& path) {
  const auto& [points, planned] =
      std::tie(result.context.points, result.context.cells_of_points);
  if (planned.empty()) return;
  if (planned.size() != points.size()) {
    throw UserError(
        path + ": context.cells_of_points",
        fmt::format("has {}, of {}", Counted(planned.size(), "number"),
                    Counted(points.size(), "point")));
  }
  std::map<std::string, std::int64_t> number;
  for (const ResultCell& cell : result.cells) ++number[cell.point];
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto found = number.find(points[i]);
    if (found == number.end() || found->second == planned[i]) continue;
    throw UserError(path, fmt::format("has {} of the {} cells of point {}; "
                                      "--resume measures that point again",
                                      found->second, planned[i], points[i]));
  }
}

void CheckValidity(const Context& context, const Place& place) {
  if (context.valid != context.invalid_reasons.empty()) {
    FailAt(place, context.valid ? "is valid and has invalid_reasons"
                                : "is not valid and has no invalid_reasons");
  }
}

void AddAbsentAxes(ResultCell& cell) {
  if (!IsWholeDecoder(cell.axes)) return;
  for (const Axis& axis : AllAxes()) {
    if (!axis.may_be_absent || !cell.axes.at(axis.name).is_null()) continue;
    cell.axes[axis.name] =
        ParseAxisValues(axis, axis.default_value, axis.name)[0];
  }
}

}  // namespace

void CheckKind(const Json& document, const std::string& kind,
               const std::string& path) {
  const auto member = [&](const char* name) -> const Json& {
    if (!document.is_object() || !document.contains(name)) {
      throw UserError(path, fmt::format("is no result: {} is missing", name));
    }
    return document.at(name);
  };
  if (member("kind") != kind) {
    throw UserError(path, fmt::format("is of kind {}, must be '{}'",
                                      Shortened(member("kind").dump()), kind));
  }
  if (member("schema_version") != kSchemaVersion) {
    throw UserError(path,
                    fmt::format("has schema_version {}, must be {}",
                                Shortened(member("schema_version").dump()),
                                kSchemaVersion));
  }
}

SweepResult SweepResultOf(const Json& document, const std::string& path) {
  CheckKind(document, "sweep", path);
  auto result = FromJson<SweepResult>(document, path);
  for (ResultCell& cell : result.cells) AddAbsentAxes(cell);
  const std::set<std::string> points(result.context.points.begin(),
                                     result.context.points.end());
  std::set<std::string> identities;
  const Place top(path);
  CheckValidity(result.context, Place(top, "context"));
  const Place cells(top, "cells");
  for (std::size_t i = 0; i < result.cells.size(); ++i) {
    const ResultCell& cell = result.cells[i];
    const Place place(cells, i);
    CheckCell(cell, place);
    if (!identities.insert(cell.Key()).second) FailAt(place, "is there twice");
    if (!points.contains(cell.point)) {
      FailAt(place, "its point is none of context.points");
    }
  }
  return result;
}

ReadSweep ReadResult(const std::string& path) {
  return ReadResult(ReadJsonFile(path), path);
}

ReadSweep ReadResult(const Json& document, const std::string& path) {
  ReadSweep read{path, SweepResultOf(document, path)};
  CheckPointsAreWhole(read.result, path);
  return read;
}

std::vector<MeasuringRun> RunsOf(const SweepResult& result) {
  if (!result.context.runs.empty()) return result.context.runs;
  MeasuringRun run = RunOf(result.context);
  for (const ResultCell& cell : result.cells) {
    if (run.points.empty() || run.points.back() != cell.point) {
      run.points.push_back(cell.point);
    }
  }
  return {run};
}

Json SweepSchema() {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "Result of a sweep of attnbench"}};
  schema.update(SchemaOf<SweepResult>());
  schema["properties"]["cells"]["items"].update(CellConditions());
  return schema;
}

}  // namespace attnbench
