// The room `answers` says what results say: tables, comparisons and checks.
//
// This header makes one table of the cells of results. `run-sweep` ends with it
// and `show` prints it: a row for each cell, grouped by point. A row tells how
// fast the cell is beside the first of its kind, and whether that is worth
// anything: how much of the memory it read, and how many outputs it left
// without a context.
#ifndef ATTNBENCH_HARNESS_ANSWERS_TABLE_H_
#define ATTNBENCH_HARNESS_ANSWERS_TABLE_H_

#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/results/sweep_result.h"
#include "harness/stats/statistics.h"

namespace attnbench {

// A speed-up of a cell that leaves a larger share of its outputs without a
// context is marked: it is the speed of a decoder that attends to nothing.
inline constexpr double kMostZeroContexts = 0.05;

// Options of mechanisms: (mechanism, option).
using OptionSet = std::set<std::pair<std::string, std::string>>;

// A mechanism with its own sizes, and options that are not its defaults or that
// are among `swept`: "mocha w=4 threshold=0.75".
std::string MechanismText(const CellIdentity& cell,
                          const OptionSet& swept = {});

struct TableRow : CellIdentity {
  std::string result = {};      // the path of its result
  std::string point = {};       // its name
  std::string point_text = {};  // "T=100 U=100 d=256 B=1 planted"
  std::string cell = {};        // "mocha w=4", as it differs from its point
  CellStatus status = CellStatus::kOk;
  std::optional<std::string> message = {};
  std::optional<double> time_ns = {};
  std::optional<Interval> time_interval_ns = {};
  // How many times as fast as `over`, by the ratios of the same rounds, with
  // the interval of 95 percent. `over` is a cell of the same group (GroupOf),
  // of soft attention or else of the first mechanism there: the one with the
  // most axes in common, or, for another cell of that mechanism, the first.
  // None for the first itself.
  std::optional<std::string> over = {};
  std::optional<double> speedup = {};
  std::optional<Interval> speedup_interval = {};
  // The share of the memory that was read before the last context was made:
  // entries that a scan passed for good, and 1 for a mechanism that does not
  // decode online; of ends that look again at entries, or at none, there is
  // none. And the share of the outputs without a context. In scope decoder they
  // are those of the whole decoder (DecoderReads). Both are of mode decode
  // alone, and not of `file` workloads, whose sequences may be shorter than T
  // and U.
  std::optional<double> memory_read = {};
  std::optional<double> zero_contexts = {};
  std::optional<double> page_faults = {};   // of the cell
  std::optional<double> instructions = {};  // of the cell

  static void Fields(auto& self, auto& visit) {
    visit("result", self.result);
    visit("point", self.point);
    visit("point_text", self.point_text);
    visit("cell", self.cell);
    CellIdentity::Fields(self, visit);
    visit("status", self.status);
    visit("message", self.message);
    visit("time_ns", self.time_ns);
    visit("time_interval_ns", self.time_interval_ns);
    visit("over", self.over);
    visit("speedup", self.speedup);
    visit("speedup_interval", self.speedup_interval);
    visit("memory_read", self.memory_read);
    visit("zero_contexts", self.zero_contexts);
    visit("page_faults", self.page_faults);
    visit("instructions", self.instructions, Rule{.absent_if_unset = true});
  }
};

// One of the results, and whether its times may be believed.
struct TableResult {
  std::string path;
  bool valid = false;
  std::vector<std::string> invalid_reasons, warnings;

  static void Fields(auto& self, auto& visit) {
    visit("path", self.path);
    visit("valid", self.valid);
    visit("invalid_reasons", self.invalid_reasons);
    visit("warnings", self.warnings);
  }
};

// The document that `show --format json` prints.
struct CellTable {
  static constexpr char kTitle[] = "Table of attnbench show";
  int schema_version = kSchemaVersion;
  std::string kind = "table";
  std::vector<TableRow> rows;
  std::vector<TableResult> results;

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version, kThisSchemaVersion);
    visit("kind", self.kind, Rule{.one_of = {"table"}});
    visit("rows", self.rows);
    visit("results", self.results);
  }
};

// Adds the rows of a result, in its order of cells.
void AddRows(const SweepResult& result, const std::string& path,
             CellTable& table);

// For people: a heading for each point, then its rows, then what the marks
// mean. After `most` rows it says how many are left out.
std::string TableText(
    const CellTable& table,
    std::size_t most = std::numeric_limits<std::size_t>::max());
// One table for a page, the point in its first column, with the notes below it,
// and what is wrong with the results.
std::string TableMarkdown(const CellTable& table);
// A line of names, then a line for each row; each axis is a column, and so is
// the validity of the row's result, its reasons and warnings joined by "; ".
// Text with a comma, a quotation mark or a line's end is quoted (RFC 4180).
std::string TableCsv(const CellTable& table);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_ANSWERS_TABLE_H_
