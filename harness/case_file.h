// Case files: a user's own arrays, for `decode`, `expect` and the workload
// file:CASE. The format stands in docs/verification.md. A mistake in a file of
// ten thousand numbers is found only if the message names the place, so every
// check names array, row and column (from 1, as in the papers).
#ifndef ATTNBENCH_HARNESS_CASE_FILE_H_
#define ATTNBENCH_HARNESS_CASE_FILE_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/arrays.h"
#include "harness/axes.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

struct CaseFile {
  std::string path;
  std::string mechanism;
  Json options;  // {} where the file has none; checked by whoever uses them
  std::map<std::string, Table<double>>
      inputs;  // only those that are in the file

  const Table<double>* Find(const std::string& input) const;
  // A view that has no data where the file does not have the input.
  MatrixView<const double> View(const std::string& input) const;
  // T, U, d or K as the arrays have it; 0 where no array says.
  Index Length(char letter) const;
  bool has_scores() const;
  GivenScores<double> Scores() const;
};

// Throws UserError: everything of ReadJsonFile, unknown keys and inputs, an
// unknown mechanism, ragged or empty arrays, what is not a finite number, p
// outside [0, 1], arrays whose shapes do not fit each other, p_choose beside
// energies, an encoder score without decoder scores or the other way round.
CaseFile ReadCaseFile(const std::string& path);

// Throws UserError where the file lacks scores that its mechanism starts from
// (Description::scores), or has scores that this mechanism does not take. One
// that lists none takes any, and says itself which it lacks.
void CheckInputsOfMechanism(const CaseFile& file);

// The name of a mechanism that is registered; throws UserError otherwise.
void CheckMechanismName(const std::string& name, const std::string& where);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CASE_FILE_H_
