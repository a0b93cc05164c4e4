// Writes a result so that there is either the whole of it or nothing: into a
// temporary file of the same folder, flushed to the disk, then renamed. What
// can be known to be wrong with the place (no such folder, read-only, file
// already there) is found before the sweep, not hours later.
#ifndef ATTNBENCH_HARNESS_SYSTEM_RESULT_FILE_H_
#define ATTNBENCH_HARNESS_SYSTEM_RESULT_FILE_H_

#include <string>

#include "harness/base/json.h"

namespace attnbench {

class ResultFile {
 public:
  // Throws UserError where `path` could not be written, or is there already
  // and may not be replaced. Leaves nothing behind, and removes what a run that
  // was killed while it wrote this result has left.
  ResultFile(std::string path, bool may_replace);

  // Puts the document there, one line a cell; a link is followed. Throws
  // UserError where the disk is full or gone; what was at the path is then
  // untouched.
  void Write(const Json& document) const;

  // The path without links: the same for all names of one file.
  const std::string& target() const { return target_; }

 private:
  std::string path_;  // as given, for messages
  std::string target_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_RESULT_FILE_H_
