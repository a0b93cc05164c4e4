// The inputs that mechanisms declare (Description::scores and ::further), all
// mechanisms together: case files, workloads and peers name them so.
#ifndef ATTNBENCH_HARNESS_INPUTS_DECLARED_INPUTS_H_
#define ATTNBENCH_HARNESS_INPUTS_DECLARED_INPUTS_H_

#include <algorithm>
#include <string_view>
#include <vector>

#include "mechanisms/mechanism.h"

namespace attnbench {

// All declared inputs, each once, in the order of the mechanisms.
const std::vector<InputSpec>& AllScores();
const std::vector<InputSpec>& AllFurtherInputs();

// The score or further input of that name; null if no mechanism declares it.
const InputSpec* FindInput(std::string_view name);

// Whether the input has a row for each output.
bool HasRowOfOutputs(std::string_view input);

template <class T>
MatrixView<T> FirstRows(const MatrixView<T>& matrix, Index most) {
  return matrix.data == nullptr ? matrix
                                : matrix.Rows(0, std::min(most, matrix.rows));
}

// The views of the further inputs that the mechanism declares.
template <class T>
NamedViews<T> FurtherOf(const Description& mechanism,
                        const NamedViews<T>& views) {
  NamedViews<T> declared;
  for (const InputSpec& input : mechanism.further) {
    declared.Set(input.name, views.Find(input.name));
  }
  return declared;
}

// The same views, with at most `most` rows where a row is an output.
template <class T>
NamedViews<T> FirstOutputs(const NamedViews<T>& views, Index most) {
  NamedViews<T> first;
  for (const auto& [name, view] : views) {
    first.Set(name, HasRowOfOutputs(name) ? FirstRows(view, most) : view);
  }
  return first;
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_DECLARED_INPUTS_H_
