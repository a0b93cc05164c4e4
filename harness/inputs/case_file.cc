#include "harness/inputs/case_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/json_file.h"
#include "harness/inputs/array_file.h"
#include "harness/inputs/declared_inputs.h"
#include "harness/sweep/cell.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

// The arrays that a case can have.
const std::vector<InputSpec>& CaseInputs() {
  static const std::vector<InputSpec> inputs = [] {
    std::vector<InputSpec> all = AllScores();
    for (const InputSpec& input : AllFurtherInputs()) all.push_back(input);
    all.push_back({.name = "memory", .shape = "Td"});
    all.push_back({.name = "states", .shape = "Ud"});
    all.push_back({.name = "cotangent", .shape = "UT"});
    return all;
  }();
  return inputs;
}

// Checks that it is a list with something in it.
void CheckList(const Json& json, const Place& place, const std::string& row) {
  if (!json.is_array()) {
    FailAt(place, fmt::format("{}is {}, must be a list (an array is a list of "
                              "rows)",
                              row, json.type_name()));
  }
  if (json.empty()) FailAt(place, row + "is empty");
}

// Says what is wrong with a number of an array; empty where nothing is.
std::string Problem(double number, bool is_probability) {
  if (is_probability && !(0 <= number && number <= 1)) {
    return fmt::format("{} is not a probability in [0, 1]", number);
  }
  if (!std::isfinite(number)) return fmt::format("{} is not finite", number);
  return {};
}
std::string Problem(const Json& value, bool is_probability) {
  if (!value.is_number()) return value.dump() + " is not a number";
  return Problem(value.get<double>(), is_probability);
}

// The array [rows, columns] of a file of numpy's.
Table<double> FromArrayFile(const std::string& text, const Rule& rule,
                            const Place& place) {
  // A case file could name itself.
  if (FileOfArray(text).ends_with(".json")) {
    FailAt(place, "names a case file; an .npy or .npz is needed");
  }
  const std::string key = place.Text();
  NumberArray read;
  try {
    read = ReadArray(text, key.substr(key.rfind('.') + 1));
  } catch (const UserError& error) {
    FailAt(place, error.what());
  }
  if (read.shape.size() != 2) {
    FailAt(place, fmt::format("{} has the shape {}, must have two axes",
                              read.place, read.shape));
  }
  for (std::size_t n = 0; n < read.values.size(); ++n) {
    const std::string problem =
        Problem(read.values[n], /*is_probability=*/rule.maximum.has_value());
    if (!problem.empty()) {
      FailAt(place, fmt::format("{}{}: {}", read.place,
                                PlaceInArray(read.shape, n), problem));
    }
  }
  Table<double> array;
  array.rows = read.shape[0];
  array.cols = read.shape[1];
  array.values = std::move(read.values);
  return array;
}

// Checks that every letter has the same length in all arrays.
void CheckShapes(const CaseFile& file) {
  std::map<char, std::pair<Index, std::string>> lengths;
  const auto check = [&](const InputSpec& spec, char letter, Index length,
                         const char* what) {
    const auto [known, is_new] = lengths.try_emplace(letter, length, spec.name);
    const auto& [other_length, other_name] = known->second;
    if (other_length != length) {
      throw UserError(
          fmt::format("{}: inputs.{}", file.path, spec.name),
          fmt::format("has {} {}, but {} is {} by inputs.{}", length, what,
                      letter, other_length, other_name));
    }
  };
  for (const InputSpec& spec : CaseInputs()) {
    const Table<double>* const array = file.Find(spec.name);
    if (array == nullptr) continue;
    check(spec, spec.shape[0], array->rows, "rows");
    check(spec, spec.shape[1], array->cols, "columns");
  }
}

std::vector<std::string> NamesOf(const std::vector<InputSpec>& inputs) {
  std::vector<std::string> names;
  for (const InputSpec& input : inputs) names.push_back(input.name);
  return names;
}

// The scores of a list, of which one is enough, that the file has.
std::vector<std::string> GivenOf(const CaseFile& file,
                                 const std::vector<InputSpec>& list) {
  std::vector<std::string> given = NamesOf(list);
  std::erase_if(given, [&](const auto& name) { return !file.Find(name); });
  return given;
}

// The mechanism's first list of scores of which the file has none, or null.
const std::vector<InputSpec>* MissingScores(const CaseFile& file,
                                            const Description& mechanism) {
  for (const std::vector<InputSpec>& list : mechanism.scores) {
    if (GivenOf(file, list).empty()) return &list;
  }
  return nullptr;
}

// Refuses two scores of one list, and a score that no mechanism can start from
// with the file's other scores.
void CheckTogether(const CaseFile& file) {
  const std::string where = file.path + ": inputs";
  std::map<std::string, std::string> lacks;  // by the score that needs it
  std::set<std::string> served;
  for (const auto* mechanism : Mechanisms<double>()) {
    const Description& about = mechanism->Describe();
    const std::vector<InputSpec>* const missing = MissingScores(file, about);
    for (const std::vector<InputSpec>& list : about.scores) {
      const std::vector<std::string> given = GivenOf(file, list);
      if (given.size() > 1) {
        throw UserError(where, fmt::format("has {}; give one of them",
                                           fmt::join(given, " and ")));
      }
      for (const std::string& name : given) {
        if (missing == nullptr) {
          served.insert(name);
        } else {
          lacks.try_emplace(
              name, fmt::to_string(fmt::join(NamesOf(*missing), " or ")));
        }
      }
    }
  }
  for (const auto& [name, missing] : lacks) {
    if (served.contains(name)) continue;
    throw UserError(where, fmt::format("has {} without {}", name, missing));
  }
}

}  // namespace

Json JsonForm<Table<double>>::Write(const Table<double>& array) {
  Json rows = Json::array();
  for (Index r = 0; r < array.rows; ++r) {
    rows.push_back(array.view().Row(r));
  }
  return rows;
}

Table<double> JsonForm<Table<double>>::Read(const Json& json, const Rule& rule,
                                            const Place& place) {
  if (json.is_string()) {
    return FromArrayFile(json.get<std::string>(), rule, place);
  }
  CheckList(json, place, "");
  Table<double> array;
  array.rows = static_cast<Index>(json.size());
  for (std::size_t r = 0; r < json.size(); ++r) {
    const std::string row = fmt::format("row {}: ", r + 1);
    CheckList(json[r], place, row);
    const auto cols = static_cast<Index>(json[r].size());
    if (r == 0) array.cols = cols;
    if (cols != array.cols) {
      FailAt(place, fmt::format("{}has {} numbers, the rows before it {}", row,
                                cols, array.cols));
    }
    for (std::size_t c = 0; c < json[r].size(); ++c) {
      const std::string problem =
          Problem(json[r][c], /*is_probability=*/rule.maximum.has_value());
      if (!problem.empty()) {
        FailAt(place,
               fmt::format("row {}, column {}: {}", r + 1, c + 1, problem));
      }
      array.values.push_back(json[r][c].get<double>());
    }
  }
  return array;
}

InputArrays JsonForm<InputArrays>::Read(const Json& json, const Rule& /*rule*/,
                                        const Place& place) {
  document::CheckIsObject(json, place);
  document::CheckKeys(json, NamesOf(CaseInputs()), place);
  InputArrays inputs;
  for (const auto& [name, rows] : json.items()) {
    const InputSpec* const declared = FindInput(name);
    const bool is_probability =
        declared != nullptr && declared->domain == Domain::kProbability;
    const Rule rule =
        is_probability ? Rule{.minimum = 0, .maximum = 1} : Rule();
    inputs[name] =
        document::Read<Table<double>>(rows, rule, Place(place, name));
    if (rows.is_string()) {
      inputs.files.push_back(FileOfArray(rows.get<std::string>()));
    }
  }
  return inputs;
}

const Table<double>* CaseFile::Find(const std::string& input) const {
  const auto found = inputs.find(input);
  return found == inputs.end() ? nullptr : &found->second;
}

MatrixView<const double> CaseFile::View(const std::string& input) const {
  const Table<double>* const array = Find(input);
  return array == nullptr ? MatrixView<const double>() : array->view();
}

Index CaseFile::Length(char letter) const {
  for (const InputSpec& spec : CaseInputs()) {
    const Table<double>* const array = Find(spec.name);
    if (array == nullptr) continue;
    if (spec.shape[0] == letter) return array->rows;
    if (spec.shape[1] == letter) return array->cols;
  }
  return 0;
}

NamedViews<const double> CaseFile::ViewsOf(
    const std::vector<InputSpec>& declared) const {
  NamedViews<const double> views;
  for (const InputSpec& input : declared)
    views.Set(input.name, View(input.name));
  return views;
}

NamedViews<const double> CaseFile::Scores() const {
  return ViewsOf(AllScores());
}

CaseFile ReadCaseFile(const std::string& path) {
  auto file = FromJson<CaseFile>(ReadJsonFile(path), path);
  file.path = path;
  CheckMechanismName(file.mechanism, path + ": mechanism");
  CheckShapes(file);
  CheckTogether(file);
  return file;
}

std::vector<std::string> FilesOf(const WorkloadName& workload) {
  if (workload.kind == WorkloadKind::kCaptured) return {workload.path};
  if (workload.kind != WorkloadKind::kFile) return {};
  std::vector<std::string> files = ReadCaseFile(workload.path).inputs.files;
  files.push_back(workload.path);
  return files;
}

void CheckInputsOfMechanism(const CaseFile& file) {
  const Description& about = FindMechanism<double>(file.mechanism)->Describe();
  if (about.scores.empty()) return;
  const std::string where = file.path + ": inputs";
  if (const auto* const missing = MissingScores(file, about)) {
    throw UserError(where, fmt::format("{} of {} is missing",
                                       fmt::join(NamesOf(*missing), " or "),
                                       file.mechanism));
  }
  std::vector<std::string> takes;
  for (const std::vector<InputSpec>& list : about.scores) {
    for (const InputSpec& score : list) takes.push_back(score.name);
  }
  for (const auto& [name, view] : file.Scores()) {
    if (!Contains(takes, name)) {
      throw UserError(where + "." + name,
                      fmt::format("{} does not take it; it takes: {}",
                                  file.mechanism, fmt::join(takes, ", ")));
    }
  }
}

void CheckMechanismName(const std::string& name, const std::string& where) {
  const std::vector<std::string> names = MechanismNames();
  if (!Contains(names, name)) {
    throw UserError(where, UnknownName("mechanism", name, names));
  }
}

}  // namespace attnbench
