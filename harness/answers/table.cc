#include "harness/answers/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "harness/answers/columns.h"
#include "harness/base/printable.h"
#include "harness/results/cell_match.h"
#include "harness/results/summary.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

using Cells = std::vector<const ResultCell*>;

using AxisValues = std::map<std::string, std::set<AxisValue>>;

AxisValues ValuesOf(const Cells& cells) {
  AxisValues values;
  for (const ResultCell* cell : cells) {
    for (const auto& [axis, value] : cell->axes) {
      if (!value.is_null()) values[axis].insert(value);
    }
  }
  return values;
}

// The options that have several values.
OptionSet SweptOptions(const Cells& cells) {
  std::map<std::pair<std::string, std::string>, OptionValue> first;
  OptionSet swept;
  for (const ResultCell* cell : cells) {
    for (const auto& [name, value] : cell->options) {
      const std::pair option(cell->mechanism, name);
      if (first.try_emplace(option, value).first->second != value) {
        swept.insert(option);
      }
    }
  }
  return swept;
}

const Description* DescriptionOf(const std::string& mechanism) {
  const auto* const found = FindMechanism<float>(mechanism);
  return found == nullptr ? nullptr : &found->Describe();
}

// Sizes that only some mechanisms have belong to the cell, not to its point.
bool IsSizeOfMechanism(const Axis& axis) {
  return axis.declared && axis.type == AxisType::kInteger;
}

// Names the cells of a point by what they have in common and by what tells them
// apart.
class PointNames {
 public:
  // `everywhere` and `swept` are of the whole result, and outlive this.
  PointNames(const Cells& of_point, const AxisValues& everywhere,
             const OptionSet& swept)
      : here_(ValuesOf(of_point)), everywhere_(everywhere), swept_(swept) {}

  // What all of them have, as far as it is a size, differs from the default or
  // is not the same in the whole result.
  std::string OfPoint(const ResultCell& cell) const {
    std::vector<std::string> parts;
    for (const Axis& axis : AllAxes()) {
      const auto found = here_.find(axis.name);
      if (found == here_.end() || found->second.size() != 1) continue;
      if (IsSizeOfMechanism(axis)) continue;
      const AxisValue& value = *found->second.begin();
      const std::string& by_default = DefaultOf(axis, cell.mode());
      if ((axis.of_point && !axis.letter.empty()) ||
          value.Shown() != by_default || everywhere_.at(axis.name).size() > 1) {
        parts.push_back(AxisText(axis, value));
      }
    }
    return fmt::format("{}", fmt::join(parts, " "));
  }

  std::string OfCell(const ResultCell& cell) const {
    std::string name = MechanismText(cell, swept_);
    for (const Axis& axis : AllAxes()) {
      const AxisValue& value = cell.axes.at(axis.name);
      if (value.is_null() || IsSizeOfMechanism(axis)) continue;
      if (here_.at(axis.name).size() > 1) name += " " + AxisText(axis, value);
    }
    return name;
  }

 private:
  const AxisValues here_;
  const AxisValues& everywhere_;
  const OptionSet& swept_;
};

int CommonAxes(const ResultCell& a, const ResultCell& b) {
  int common = 0;
  for (const auto& [axis, value] : a.axes) {
    if (!value.is_null() && value == b.axes.at(axis)) ++common;
  }
  return common;
}

// The cell over which TableRow has the speed-up of `cell`, among the timed ones
// of its group; null if it is that cell itself.
const ResultCell* ReferenceOf(const ResultCell& cell, const Cells& group) {
  const auto is_base = [](const ResultCell* one) {
    return one->mechanism == kSoftAttention &&
           !one->options.contains(kPolicyOption);
  };
  const bool has_soft = std::ranges::any_of(group, is_base);
  const std::string mechanism = has_soft ? kSoftAttention : group[0]->mechanism;
  const ResultCell* best = nullptr;
  int most = -1;
  for (const ResultCell* one : group) {
    if (has_soft ? !is_base(one) : one->mechanism != mechanism) continue;
    const int common = CommonAxes(*one, cell);
    if (common <= most) continue;
    best = one;
    most = common;
    if (cell.mechanism == mechanism) break;  // the first one
  }
  return best == &cell ? nullptr : best;
}

double Share(double value) { return std::clamp(value, 0.0, 1.0); }

// The outputs and entries of all sequences of a cell's draw.
std::pair<double, double> OutputsAndEntries(const ResultCell& cell,
                                            const SweepContext& context) {
  for (const WorkloadFile& file : context.workload_files) {
    if (file.workload != cell.Text("workload") || !file.entries) continue;
    return {static_cast<double>(file.outputs.value_or(0)),
            static_cast<double>(*file.entries)};
  }
  const auto batch = static_cast<double>(cell.Int("batch"));
  return {static_cast<double>(cell.Int("output_length")) * batch,
          static_cast<double>(cell.Int("memory_length")) * batch};
}

// What DecoderReads has of a whole decoder, of attention alone.
void SetReads(const ResultCell& cell, const SweepContext& context,
              TableRow& row) {
  const std::optional<double> mass = cell.numerics->attention_mass;
  if (cell.mode() != Mode::kDecode || !mass ||
      cell.Text("workload").starts_with("file:")) {
    return;
  }
  const auto [outputs, entries] = OutputsAndEntries(cell, context);
  const Description* const description = DescriptionOf(cell.mechanism);
  if (description != nullptr &&
      !DecodesOnline(*description, MakeConfig(cell))) {
    // Such a mechanism weighs all entries, by weights of any sum.
    row.zero_contexts = 0;
    row.memory_read = 1;
    return;
  }
  row.zero_contexts = Share(1 - *mass / outputs);
  if (description == nullptr) return;
  const AxisValue& end = cell.axes.at("end");
  if (!cell.operations || !end.is_text() || end.text() != "absorb") return;
  // Each energy passes an entry for good or ends an output.
  row.memory_read = Share((cell.operations->energies - *mass) / entries);
}

void SetTime(const ResultCell& cell, const SweepContext& context,
             TableRow& row) {
  row.time_ns = cell.median_ns;
  row.time_interval_ns = cell.interval_ns;
  row.page_faults = cell.page_faults;
  row.instructions = cell.instructions;
  if (!cell.decoder) {
    if (cell.numerics) SetReads(cell, context, row);
  } else if (cell.decoder->reads) {
    row.memory_read = cell.decoder->reads->memory_read;
    row.zero_contexts = cell.decoder->reads->zero_contexts;
  }
}

// ---- for people -------------------------------------------------------------

bool IsMarked(const TableRow& row) {
  return row.speedup && row.zero_contexts.value_or(0) > kMostZeroContexts;
}

// The last column is there only if a row has something in it.
std::vector<std::string> HeadingsOf(std::span<const TableRow> rows) {
  std::vector<std::string> headings = {"cell", "time", "speed-up",
                                       "memory read", "no context"};
  if (std::ranges::any_of(rows, [](const TableRow& row) {
        return row.instructions.has_value();
      })) {
    headings.emplace_back("instructions");
  }
  return headings;
}

std::string SpeedupText(const TableRow& row) {
  if (!row.speedup) return row.time_ns && !row.over ? "1x" : kNoValue;
  return RatioText(*row.speedup, row.speedup_interval) +
         (IsMarked(row) ? " *" : "");
}

std::vector<std::string> ColumnsOf(const TableRow& row) {
  if (!row.time_ns) {
    return {row.cell, fmt::format("{}: {}", NameOf(row.status),
                                  Shortened(row.message.value_or(kNoValue)))};
  }
  std::vector<std::string> columns = {
      row.cell, TimeText(*row.time_ns, row.time_interval_ns), SpeedupText(row),
      PercentText(row.memory_read), PercentText(row.zero_contexts)};
  if (row.instructions) columns.push_back(CountText(*row.instructions));
  return columns;
}

// The mechanism of a cell by the cell's name, with its policy: without it soft
// attention would pass for that of the whole memory.
std::string MechanismOf(const std::string& cell) {
  std::string text = cell.substr(0, cell.find(' '));
  const std::size_t policy = cell.find(fmt::format(" {}=", kPolicyOption));
  if (policy == std::string::npos) return text;
  return text + cell.substr(policy, cell.find(' ', policy + 1) - policy);
}

// What a reader of the rows has to know.
std::vector<std::string> Notes(std::span<const TableRow> rows) {
  std::vector<std::string> notes;
  std::set<std::string> over;
  for (const TableRow& row : rows) {
    if (row.speedup) over.insert(MechanismOf(*row.over));
  }
  if (!over.empty()) {
    notes.push_back(fmt::format(
        "speed-up: the time of {} over that of the cell, in the same rounds; "
        "[ ]: 95 % interval",
        fmt::join(over, " or ")));
  }
  const auto is_untold = [](const TableRow& row) {
    return row.zero_contexts && !row.memory_read;
  };
  if (std::ranges::any_of(rows, is_untold)) {
    notes.emplace_back(
        "memory read: - where counts do not tell it, as of a decoder that "
        "looks at an entry more than once, or of a mechanism that this "
        "program does not have");
  }
  if (std::ranges::any_of(rows, IsMarked)) {
    notes.push_back(fmt::format(
        "*: over {:.0f} % of the outputs have no context, so part of this is "
        "the speed of a decoder that attends to nothing",
        100 * kMostZeroContexts));
  }
  return notes;
}

std::string NumberText(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string QuotedText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string MechanismText(const CellIdentity& cell, const OptionSet& swept) {
  std::string text = cell.mechanism;
  for (const Axis& axis : AllAxes()) {
    const AxisValue& value = cell.axes.at(axis.name);
    if (value.is_null() || !IsSizeOfMechanism(axis)) continue;
    text += " " + AxisText(axis, value);
  }
  const Description* const description = DescriptionOf(cell.mechanism);
  if (description == nullptr) return text;
  for (const OptionSpec& option : description->options) {
    const auto found = cell.options.find(option.name);
    if (found == cell.options.end()) continue;
    const std::string value = OptionText(found->second);
    const bool is_read =
        option.variant.empty() || option.variant == cell.Text("variant");
    if (value == OptionText(option.default_value) &&
        !(is_read && swept.contains({cell.mechanism, option.name}))) {
      continue;
    }
    text += fmt::format(" {}={}", option.name, value);
  }
  return text;
}

void AddRows(const SweepResult& result, const std::string& path,
             CellTable& table) {
  const SweepContext& context = result.context;
  table.results.push_back({.path = path,
                           .valid = context.valid,
                           .invalid_reasons = context.invalid_reasons,
                           .warnings = context.warnings});
  Cells all;
  std::map<std::string, Cells> of_point, groups;
  for (const ResultCell& cell : result.cells) {
    all.push_back(&cell);
    of_point[cell.point].push_back(&cell);
    if (cell.is_ok()) groups[GroupOf(cell)].push_back(&cell);
  }
  const AxisValues everywhere = ValuesOf(all);
  const OptionSet swept = SweptOptions(all);
  std::map<std::string, PointNames> names;
  for (const auto& [point, cells] : of_point) {
    names.emplace(point, PointNames(cells, everywhere, swept));
  }
  for (const ResultCell& cell : result.cells) {
    const PointNames& here = names.at(cell.point);
    TableRow row{static_cast<const CellIdentity&>(cell)};
    row.result = path;
    row.point = cell.point;
    row.point_text = here.OfPoint(cell);
    row.cell = here.OfCell(cell);
    row.status = cell.status;
    row.message = cell.message;
    if (cell.is_ok()) {
      SetTime(cell, context, row);
      if (const auto* over = ReferenceOf(cell, groups.at(GroupOf(cell)))) {
        row.over = here.OfCell(*over);
        if (const auto speedup = SpeedupOf(cell, *over)) {
          row.speedup = speedup->value;
          row.speedup_interval = Finite(speedup->interval);
        }
      }
    }
    table.rows.push_back(std::move(row));
  }
}

std::string TableText(const CellTable& table, std::size_t most) {
  const std::span<const TableRow> rows(table.rows.data(),
                                       std::min(most, table.rows.size()));
  std::vector<std::vector<std::string>> columns = {HeadingsOf(rows)};
  for (const TableRow& row : rows) columns.push_back(ColumnsOf(row));
  const std::vector<std::string> lines = Aligned(columns);
  std::string text, point;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string here = rows[i].result + " " + rows[i].point;
    if (here != point) text += rows[i].point_text + "\n" + lines[0] + "\n";
    point = here;
    text += lines[i + 1] + "\n";
  }
  if (rows.size() < table.rows.size()) {
    text += fmt::format("{} more rows: attnbench show {}\n",
                        table.rows.size() - rows.size(), table.rows[0].result);
  }
  for (const std::string& note : Notes(rows)) text += note + "\n";
  return text;
}

std::string TableMarkdown(const CellTable& table) {
  const std::vector<std::string> headings = HeadingsOf(table.rows);
  std::string text = "| point ";
  for (const std::string& heading : headings) text += "| " + heading + " ";
  text += "|\n| --- | ---";
  for (std::size_t n = 1; n < headings.size(); ++n) text += " | ---:";
  text += " |\n";
  for (const TableRow& row : table.rows) {
    text += "| " + MarkdownText(row.point_text) + " ";
    std::vector<std::string> columns = ColumnsOf(row);
    columns.resize(headings.size());
    for (const std::string& column : columns) {
      text += "| " + MarkdownText(column) + " ";
    }
    text += "|\n";
  }
  text += "\n";
  std::vector<std::string> notes = Notes(table.rows);
  for (const TableResult& result : table.results) {
    for (const std::string& reason : result.invalid_reasons) {
      notes.push_back(fmt::format("INVALID: {}: {}", result.path, reason));
    }
    for (const std::string& warning : result.warnings) {
      notes.push_back(fmt::format("warning: {}: {}", result.path, warning));
    }
  }
  for (const std::string& note : notes) {
    text += "- " + MarkdownText(note) + "\n";
  }
  return text;
}

std::string TableCsv(const CellTable& table) {
  std::string text = "result,point,cell,mechanism";
  for (const Axis& axis : AllAxes()) text += "," + axis.name;
  text +=
      ",status,message,time_ns,time_low_ns,time_high_ns,over,speedup,"
      "speedup_low,speedup_high,memory_read,zero_contexts,page_faults,"
      "instructions,valid,invalid_reasons,warnings\n";
  std::map<std::string, const TableResult*> results;
  for (const TableResult& result : table.results) {
    results[result.path] = &result;
  }
  const auto end = [](const std::optional<Interval>& interval,
                      double Interval::*which) {
    return interval ? NumberText((*interval).*which) : "";
  };
  for (const TableRow& row : table.rows) {
    std::vector<std::string> fields = {row.result, row.point, row.cell,
                                       row.mechanism};
    for (const Axis& axis : AllAxes()) {
      const AxisValue& value = row.axes.at(axis.name);
      fields.push_back(value.is_null() ? "" : value.Shown());
    }
    const TableResult& result = *results.at(row.result);
    for (const std::string& field :
         {NameOf(row.status), row.message.value_or(""), NumberText(row.time_ns),
          end(row.time_interval_ns, &Interval::low),
          end(row.time_interval_ns, &Interval::high), row.over.value_or(""),
          NumberText(row.speedup), end(row.speedup_interval, &Interval::low),
          end(row.speedup_interval, &Interval::high),
          NumberText(row.memory_read), NumberText(row.zero_contexts),
          NumberText(row.page_faults), NumberText(row.instructions),
          std::string(result.valid ? "true" : "false"),
          fmt::to_string(fmt::join(result.invalid_reasons, "; ")),
          fmt::to_string(fmt::join(result.warnings, "; "))}) {
      fields.push_back(field);
    }
    for (std::string& field : fields) field = QuotedText(field);
    text += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return text;
}

}  // namespace attnbench
