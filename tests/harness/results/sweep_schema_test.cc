// Guards against a schema that lets a wrong output pass with a time, and
// against a committed schema that is not the program's any more.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "harness/results/sweep_result.h"
#include "tests/support/error_text.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

bool IsRead(const Json& document) {
  return testing::ErrorText([&] { SweepResultOf(document, "r.json"); }).empty();
}

// Validates by the schema, and expects the reader to agree.
bool Validates(const Json& document) {
  const bool validates = testing::Validates(SweepSchema(), document);
  EXPECT_EQ(validates, IsRead(document));
  return validates;
}

Json GoodCell() {
  return Json::parse(R"({
    "mechanism": "mocha", "memory_length": 100, "output_length": 100,
    "chunk_width": 4, "num_contexts": null, "dim": 256, "batch": 1,
    "threads": 1, "precision": "f32", "mode": "decode", "scope": "full",
    "schedule": "online", "energy": "dot", "variant": "exact",
    "workload": "uniform", "end": "absorb",
    "options": {"threshold": 0.5, "strict": false, "keys": "precomputed"},
    "status": "ok", "message": null, "samples_ns": [12.5, 13.5],
    "trials_per_sample": 3, "processes": 1, "median_ns": 13, "interval_ns": [12.5, 13.5],
    "prepare_ns": 1.5, "spread": {"rounds": 0.1, "processes": null, "draws": null,
      "outliers": 0, "drift": null, "drift_p": null},
    "prepare_samples_ns": [1.5], "draw_ns": [12, 14],
    "operations": {"energies": 199, "chunk_energies": 300, "memory_rows": 1,
                   "flops": 1, "bytes": 1},
    "latency": {"ap": 0.5, "al": -0.5, "laal": -0.5, "dal": 2},
    "peak_memory_bytes": 4096,
    "limit": {"bound": "L2", "limit_ns": 6.5, "fraction": 0.5,
              "working_set_bytes": 4096},
    "point": "0123456789abcdef",
    "numerics": {"attention_mass": 1, "context_sum": -0.5, "context_l2": 2,
                 "error": 1e-7, "error_bound": 1e-5}})");
}

Json GoodDocument() {
  Json document = Json::parse(R"({"schema_version": 1, "kind": "sweep",
    "context": {"commit": "abc", "dirty": null, "build_id": "0", "command": "x",
      "date": "2020-01-01T00:00:00Z", "seed": 1, "compiler": "g", "flags": "-O",
      "build_type": "Release", "cpu": "c", "caches": ["L1 Data 48K"],
      "cores": 2, "affinity": "0-1",
      "memory_bytes": 1024, "kernel": "6.1", "governor": null,
      "turbo": true, "aslr": 2, "load": 0.5, "load_end": null, "simd": "AVX2",
      "openmp": {"version": 201511, "max_threads": 2, "OMP_NUM_THREADS": null,
        "OMP_PROC_BIND": null, "OMP_PLACES": null, "OMP_WAIT_POLICY": null},
      "libraries": {"fmt": "9.1"}, "valid": true,
      "invalid_reasons": [], "warnings": [],
      "points": ["0123456789abcdef"], "shard": null, "limits": [],
      "calibration": [{"point": "0123456789abcdef", "samples_ns": [9],
                       "median_ns": 9, "deviation": 0}]}})");
  document["cells"] = Json::array({GoodCell()});
  return document;
}

// Whether the good document is valid after a change to its one cell.
bool CellValidates(const std::function<void(Json&)>& change) {
  Json document = GoodDocument();
  change(document["cells"][0]);
  return Validates(document);
}

void MakeInvalid(Json& cell) {
  cell["status"] = "invalid";
  cell["message"] = "output 3 differs";
  for (const char* name :
       {"trials_per_sample", "median_ns", "interval_ns", "prepare_ns", "spread",
        "operations", "latency", "limit", "peak_memory_bytes"}) {
    cell[name] = nullptr;
  }
  cell["samples_ns"] = Json::array();
  cell["draw_ns"] = Json::array();
}

TEST(ResultSchema, ACellWithoutATimeHasNoLeastSample) {
  EXPECT_TRUE(CellValidates([](Json& cell) { MakeInvalid(cell); }));
  EXPECT_FALSE(CellValidates([](Json& cell) {
    MakeInvalid(cell);
    cell["least_ns"] = 12;
  }));
}

TEST(ResultSchema, TheCommittedFileIsTheSchemaOfTheProgram) {
  std::ifstream file("results/schema/sweep.schema.json");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == SweepSchema().dump(2) + "\n")
      << "write it again: attnbench list --schema > "
         "results/schema/sweep.schema.json";
}

TEST(ResultSchema, AWholeResultValidates) {
  EXPECT_TRUE(Validates(GoodDocument()));
  EXPECT_TRUE(CellValidates(MakeInvalid));
  EXPECT_TRUE(CellValidates([](Json& cell) { cell["chunk_width"] = "inf"; }));
  EXPECT_TRUE(CellValidates([](Json& cell) { cell["workload"] = "bias:-2"; }));
}

TEST(ResultSchema, EveryFieldIsWantedAndNoOtherIsTaken) {
  Json good = GoodCell();
  good.erase("latency");  // older results lack it
  for (const auto& [name, value] : good.items()) {
    EXPECT_FALSE(CellValidates([&key = name](Json& cell) { cell.erase(key); }))
        << name;
  }
  EXPECT_FALSE(CellValidates([](Json& cell) { cell["speed"] = 1; }));
  for (const char* name : {"schema_version", "kind", "context", "cells"}) {
    Json document = GoodDocument();
    document.erase(name);
    EXPECT_FALSE(Validates(document)) << name;
  }
}

TEST(ResultSchema, RunsMayBeMissingAndAreWholeWhereTheyAreNot) {
  const Json good = Json::parse(R"({"date": "2020-01-01T00:00:00Z",
      "command": "x", "cell_limit_s": 3600, "load": 0.5, "load_end": null,
      "invalid_reasons": ["busy"], "warnings": [],
      "points": ["0123456789abcdef"]})");
  const auto with = [](const Json& run) {
    Json document = GoodDocument();
    document["context"]["runs"] = Json::array({run});
    return Validates(document);
  };
  EXPECT_TRUE(with(good));
  for (const auto& [name, value] : good.items()) {
    Json run = good;
    run.erase(name);
    EXPECT_FALSE(with(run)) << name;
  }
  Json run = good;
  run["file"] = "shard0.json";
  run["differs"] = {{"cpu", "another"}};
  run["cell_limit_s"] = nullptr;
  run["peer_limit_s"] = 120;
  EXPECT_TRUE(with(run));
  run["load_start"] = 1;
  EXPECT_FALSE(with(run));
}

TEST(ResultSchema, AContextIsNotValidIfAndOnlyIfThereIsAReason) {
  for (const bool valid : {false, true}) {
    for (const bool has_reason : {false, true}) {
      Json document = GoodDocument();
      document["context"]["valid"] = valid;
      if (has_reason) document["context"]["invalid_reasons"] = {"busy"};
      EXPECT_EQ(Validates(document), valid != has_reason);
    }
  }
}

TEST(ResultSchema, ALimitIsWholeAndOfAGoodCell) {
  const Json good = {{"bound", "L2"},
                     {"limit_ns", 4},
                     {"fraction", 0.5},
                     {"working_set_bytes", 9}};
  const auto with = [](const Json& limit) {
    return CellValidates([&](Json& cell) { cell["limit"] = limit; });
  };
  EXPECT_TRUE(with(good));
  EXPECT_TRUE(with(nullptr));
  for (const auto& [name, value] : good.items()) {
    Json limit = good;
    limit.erase(name);
    EXPECT_FALSE(with(limit)) << name;
  }
  Json limit = good;
  limit["limit_interval_ns"] = {3, 4};
  limit["fraction_interval"] = {0.4, 0.6};
  EXPECT_TRUE(with(limit));
  limit["bound"] = "L0";
  EXPECT_FALSE(with(limit));
  EXPECT_FALSE(CellValidates([&](Json& cell) {
    MakeInvalid(cell);
    cell["limit"] = good;
  }));
}

TEST(ResultSchema, AnOldCalibrationIsOfTheChainAlone) {
  Json document = GoodDocument();
  Json& entry = document["context"]["calibration"][0];
  entry["probes"] = {{"L2", {5}}};
  entry["strayed"] = {{"again", 1}, {"still", 0}};
  EXPECT_TRUE(Validates(document));
  entry["probes"]["L2"] = {0};
  EXPECT_FALSE(Validates(document));
}

TEST(ResultSchema, ALatencyIsWholeNullOrNotThere) {
  EXPECT_TRUE(CellValidates([](Json& cell) { cell.erase("latency"); }));
  EXPECT_TRUE(CellValidates([](Json& cell) { cell["latency"] = nullptr; }));
  for (const char* figure : {"ap", "al", "laal", "dal"}) {
    EXPECT_FALSE(
        CellValidates([&](Json& cell) { cell["latency"].erase(figure); }));
    EXPECT_FALSE(
        CellValidates([&](Json& cell) { cell["latency"][figure] = nullptr; }));
  }
  EXPECT_FALSE(CellValidates([](Json& cell) { cell["latency"]["ap"] = 1.01; }));
  EXPECT_FALSE(CellValidates([](Json& cell) { cell["latency"]["dal"] = -1; }));
  EXPECT_FALSE(CellValidates([](Json& cell) { cell["latency"]["lag"] = 1; }));
  EXPECT_FALSE(CellValidates([](Json& cell) {
    const Json latency = cell["latency"];
    MakeInvalid(cell);
    cell["latency"] = latency;
  }));
}

TEST(ResultSchema, WrongValuesAreRefused) {
  const std::pair<const char*, Json> wrong[] = {
      {"memory_length", 0},       {"memory_length", "100"},
      {"memory_length", nullptr}, {"memory_length", "inf"},
      {"chunk_width", "all"},     {"precision", "f16"},
      {"workload", "bias:"},      {"workload", "uniformly"},
      {"status", "fine"},         {"samples_ns", {-1}},
      {"interval_ns", {1, 2, 3}}, {"options", {{"threshold", nullptr}}}};
  for (const auto& [name, value] : wrong) {
    EXPECT_FALSE(CellValidates([&key = name, &to = value](Json& cell) {
      cell[key] = to;
    })) << name
        << " " << value;
  }
}

TEST(ResultSchema, OnlyTrainingHasNothingToPrepare) {
  const auto unprepared = [](const char* mode) {
    return CellValidates([mode](Json& cell) {
      cell["mode"] = mode;
      cell["prepare_ns"] = nullptr;
    });
  };
  EXPECT_FALSE(unprepared("decode"));
  EXPECT_TRUE(unprepared("expect"));
  EXPECT_TRUE(unprepared("gradient"));
}

TEST(ResultSchema, AGoodCellHasATimeAndAWrongOneHasNone) {
  EXPECT_FALSE(CellValidates([](Json& cell) { cell["median_ns"] = nullptr; }));
  EXPECT_FALSE(
      CellValidates([](Json& cell) { cell["samples_ns"] = Json::array(); }));
  EXPECT_FALSE(CellValidates([](Json& cell) {
    MakeInvalid(cell);
    cell["median_ns"] = 5;
  }));
  EXPECT_FALSE(CellValidates([](Json& cell) {
    MakeInvalid(cell);
    cell["samples_ns"] = {5};
  }));
  EXPECT_FALSE(CellValidates([](Json& cell) {
    MakeInvalid(cell);
    cell["message"] = nullptr;
  }));
}

}  // namespace
}  // namespace attnbench
