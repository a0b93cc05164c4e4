#include "harness/case_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/error.h"
#include "harness/json_file.h"
#include "harness/score_fields.h"
#include "harness/sweep.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

// The arrays that a case can have, with the letters of their shapes.
struct InputSpec {
  const char* name;
  char rows;
  char cols;
  bool is_score;  // stands for what states and parameters would give
};
constexpr InputSpec kInputs[] = {
    {"p_choose", 'U', 'T', true},       {"energies", 'U', 'T', true},
    {"chunk_energies", 'U', 'T', true}, {"encoder_scores", 'T', 'K', true},
    {"decoder_scores", 'U', 'K', true}, {"memory", 'T', 'd', false},
    {"states", 'U', 'd', false},        {"cotangent", 'U', 'T', false}};

void CheckKeys(const Json& object, const std::string& where,
               const std::string& what, const std::vector<std::string>& valid) {
  if (!object.is_object()) {
    throw UserError(where, fmt::format("is {}, an object {{...}} is wanted",
                                       object.type_name()));
  }
  for (const auto& [key, value] : object.items()) {
    if (!Contains(valid, key)) {
      throw UserError(where, UnknownName(what, key, valid));
    }
  }
}

// What is wrong with a number of an array; empty where nothing is.
std::string Problem(const Json& value, bool is_probability) {
  if (!value.is_number()) return value.dump() + " is not a number";
  const auto number = value.get<double>();
  if (is_probability && !(0 <= number && number <= 1)) {
    return fmt::format("{} is not a probability in [0, 1]", number);
  }
  return {};
}

Table<double> ReadArray(const Json& rows, const std::string& where,
                        bool is_probability) {
  const auto check_list = [](const Json& list, const std::string& place) {
    if (!list.is_array()) {
      throw UserError(place, fmt::format("is {}, a list is wanted (an array is "
                                         "a list of rows)",
                                         list.type_name()));
    }
    if (list.empty()) throw UserError(place, "is empty");
  };
  check_list(rows, where);
  Table<double> array;
  array.rows = static_cast<Index>(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::string row_place = fmt::format("{}, row {}", where, r + 1);
    check_list(rows[r], row_place);
    const auto cols = static_cast<Index>(rows[r].size());
    if (r == 0) array.cols = cols;
    if (cols != array.cols) {
      throw UserError(row_place,
                      fmt::format("has {} numbers, the rows before it {}", cols,
                                  array.cols));
    }
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      const std::string problem = Problem(rows[r][c], is_probability);
      if (!problem.empty()) {
        throw UserError(fmt::format("{}, column {}", row_place, c + 1),
                        problem);
      }
      array.values.push_back(rows[r][c].get<double>());
    }
  }
  return array;
}

// Every letter has one length, whichever array says it.
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
  for (const InputSpec& spec : kInputs) {
    const Table<double>* const array = file.Find(spec.name);
    if (array == nullptr) continue;
    check(spec, spec.rows, array->rows, "rows");
    check(spec, spec.cols, array->cols, "columns");
  }
}

void CheckTogether(const CaseFile& file) {
  const std::string where = file.path + ": inputs";
  if (file.Find("p_choose") != nullptr && file.Find("energies") != nullptr) {
    throw UserError(where, "has p_choose and energies; give one of them");
  }
  for (const auto& [one, other] :
       {std::pair("encoder_scores", "decoder_scores"),
        std::pair("decoder_scores", "encoder_scores")}) {
    if (file.Find(one) != nullptr && file.Find(other) == nullptr) {
      throw UserError(where, fmt::format("has {} without {}", one, other));
    }
  }
}

void ReadInputs(const Json& inputs, CaseFile& file) {
  const std::string where = file.path + ": inputs";
  std::vector<std::string> names;
  for (const InputSpec& spec : kInputs) names.emplace_back(spec.name);
  CheckKeys(inputs, where, "input", names);
  for (const auto& [name, rows] : inputs.items()) {
    file.inputs[name] = ReadArray(rows, where + "." + name,
                                  /*is_probability=*/name == "p_choose");
  }
  CheckShapes(file);
  CheckTogether(file);
}

}  // namespace

const Table<double>* CaseFile::Find(const std::string& input) const {
  const auto found = inputs.find(input);
  return found == inputs.end() ? nullptr : &found->second;
}

MatrixView<const double> CaseFile::View(const std::string& input) const {
  const Table<double>* const array = Find(input);
  return array == nullptr ? MatrixView<const double>() : array->view();
}

Index CaseFile::Length(char letter) const {
  for (const InputSpec& spec : kInputs) {
    const Table<double>* const array = Find(spec.name);
    if (array == nullptr) continue;
    if (spec.rows == letter) return array->rows;
    if (spec.cols == letter) return array->cols;
  }
  return 0;
}

bool CaseFile::has_scores() const {
  return std::any_of(std::begin(kInputs), std::end(kInputs),
                     [this](const InputSpec& spec) {
                       return spec.is_score && Find(spec.name) != nullptr;
                     });
}

GivenScores<double> CaseFile::Scores() const {
  return GivenScoresOf<double>([this](const char* name) { return View(name); });
}

CaseFile ReadCaseFile(const std::string& path) {
  const Json json = ReadJsonFile(path);
  CheckKeys(
      json, path, "key",
      {"name", "mechanism", "options", "inputs", "expected", "tolerance"});
  for (const char* key : {"mechanism", "inputs"}) {
    if (!json.contains(key)) {
      throw UserError(path, fmt::format("the key '{}' is missing", key));
    }
  }
  CaseFile file;
  file.path = path;
  if (!json["mechanism"].is_string()) {
    throw UserError(
        path + ": mechanism",
        fmt::format("is {}, a name is wanted", json["mechanism"].type_name()));
  }
  file.mechanism = json["mechanism"].get<std::string>();
  CheckMechanismName(file.mechanism, path + ": mechanism");
  file.options = json.value("options", Json::object());
  if (!file.options.is_object()) {
    throw UserError(path + ": options", "an object {...} is wanted");
  }
  ReadInputs(json["inputs"], file);
  return file;
}

void CheckInputsOfMechanism(const CaseFile& file) {
  const auto scores = FindMechanism<double>(file.mechanism)->Describe().scores;
  if (scores.empty()) return;
  const std::string where = file.path + ": inputs";
  const auto is_there = [&](const std::string& name) {
    return file.Find(name) != nullptr;
  };
  std::vector<std::string> takes;
  for (const std::vector<std::string>& either : scores) {
    if (std::none_of(either.begin(), either.end(), is_there)) {
      throw UserError(
          where, fmt::format("{} of {} is missing", fmt::join(either, " or "),
                             file.mechanism));
    }
    takes.insert(takes.end(), either.begin(), either.end());
  }
  for (const InputSpec& spec : kInputs) {
    if (spec.is_score && is_there(spec.name) && !Contains(takes, spec.name)) {
      throw UserError(where + "." + spec.name,
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
