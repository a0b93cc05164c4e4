// Reads a sweep's result document that may come from anywhere: another machine,
// another version, an editor. It is checked here, once, against the schema and
// for what a schema cannot say, so that compare, check and merge can take every
// field for granted. What is wrong is a UserError with file and place.
#ifndef ATTNBENCH_HARNESS_RESULT_READER_H_
#define ATTNBENCH_HARNESS_RESULT_READER_H_

#include <string>

#include "harness/axes.h"

namespace attnbench {

struct ResultDocument {
  std::string path;  // as given
  Json json;
};

// The document of that path. Beyond the schema: samples are above 0 and equally
// many of each process, no cell is there twice, and the point of each is one of
// the sweep's.
ResultDocument ReadResult(const AxisTable& table, const std::string& path);

// The same checks of a document that was read already.
void CheckResult(const AxisTable& table, const ResultDocument& result);

// Throws UserError naming `where` if the samples of a cell in `list` are not
// above 0, or not equally many of each process.
void CheckSamples(const Json& cell, const std::string& list,
                  const std::string& where);

// What tells a cell of a result from all others of its file and finds it in
// another: mechanism, axes and options, as one text.
std::string CellIdentity(const AxisTable& table, const Json& cell);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RESULT_READER_H_
