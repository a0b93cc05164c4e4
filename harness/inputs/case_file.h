// Case files: a user's own arrays, for `decode`, `expect` and the workload
// file:CASE. docs/verification.md has the format. A mistake in a file of ten
// thousand numbers is found only if the message names the place, so every check
// names array, row and column (from 1, as in the papers).
#ifndef ATTNBENCH_HARNESS_INPUTS_CASE_FILE_H_
#define ATTNBENCH_HARNESS_INPUTS_CASE_FILE_H_

#include <map>
#include <string>
#include <vector>

#include "harness/base/arrays.h"
#include "harness/base/document.h"
#include "harness/sweep/axes.h"
#include "harness/sweep/workload_name.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// The arrays that a case has, by their names.
struct InputArrays : std::map<std::string, Table<double>> {
  std::vector<std::string> files;  // those of numpy's that they are read from
};

// An array is written as a list of rows of numbers, or as the text FILE or
// FILE:NAME of an .npy or .npz (array_file.h). A range in the rule is the range
// of probabilities.
template <>
struct JsonForm<Table<double>> {
  static Json Write(const Table<double>& array);
  static Table<double> Read(const Json& json, const Rule& rule,
                            const Place& place);
};
template <>
struct JsonForm<InputArrays> {
  static InputArrays Read(const Json& json, const Rule& rule,
                          const Place& place);
};

struct CaseFile {
  std::string path;
  std::string mechanism;
  std::map<std::string, OptionValue> options;  // whoever uses them checks them
  InputArrays inputs;

  static void Fields(auto& self, auto& visit) {
    const Rule optional{.may_be_absent = true};
    // These three members are for people and for the project's tests.
    Json unused;
    visit("name", unused, optional);
    visit("mechanism", self.mechanism);
    visit("options", self.options, optional);
    visit("inputs", self.inputs);
    visit("expected", unused, optional);
    visit("tolerance", unused, optional);
  }

  const Table<double>* Find(const std::string& input) const;
  // The input as a view, which has no data if the file lacks it.
  MatrixView<const double> View(const std::string& input) const;
  // The T, U, d or K of the arrays; 0 where no array says.
  Index Length(char letter) const;
  // The inputs among `declared` that the file has.
  NamedViews<const double> ViewsOf(
      const std::vector<InputSpec>& declared) const;
  NamedViews<const double> Scores() const;
};

// Throws UserError for everything that ReadJsonFile refuses, unknown keys and
// inputs, an unknown mechanism, ragged or empty arrays, anything but finite
// numbers, p outside [0, 1], arrays whose shapes do not fit each other, two
// scores that stand for the same thing (p_choose beside energies), a score that
// no mechanism can start from with the others (encoder without decoder scores).
CaseFile ReadCaseFile(const std::string& path);

// The files that a workload is drawn from: captured energies, or a case and the
// arrays that it names.
std::vector<std::string> FilesOf(const WorkloadName& workload);

// Throws UserError if the file lacks scores that its mechanism starts from
// (Description::scores), or has scores that this mechanism does not take. A
// mechanism that lists none takes any, and says itself which it lacks.
void CheckInputsOfMechanism(const CaseFile& file);

// Throws UserError if no mechanism of that name is registered.
void CheckMechanismName(const std::string& name, const std::string& where);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_CASE_FILE_H_
