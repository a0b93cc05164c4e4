// Writes a result so that there is either the whole of it or nothing: into a
// temporary file of the same folder, flushed to the disk, then renamed. Faults
// of the place (no such folder, read-only, file already there) are found before
// the sweep, not hours later.
#ifndef ATTNBENCH_HARNESS_SYSTEM_RESULT_FILE_H_
#define ATTNBENCH_HARNESS_SYSTEM_RESULT_FILE_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/base/json.h"

namespace attnbench {

// Throws UserError if `output` is one of the files that the command reads,
// under whatever name ("-" is standard input): it would be lost.
void RefuseToReplace(const std::vector<std::string>& inputs,
                     const std::string& output);

class ResultFile {
 public:
  // Throws UserError if `path` could not be written, is "-" or anything else
  // but a file of this command's own, or is there already and may not be
  // replaced. Leaves nothing behind, and removes what a killed run
  // has left of this result.
  ResultFile(std::string path, bool may_replace);

  // Puts the document there, one line a cell, and follows a link. Throws
  // UserError if the disk is full or gone, or if a file that may not be
  // replaced has appeared; the old file is then untouched.
  void Write(const Json& document) const;

  // The path without links, the same for all names of one file.
  const std::string& target() const { return target_; }

 private:
  std::string path_;  // as the user gave it, for messages
  std::string target_;
  bool may_replace_;
};

// The file of an option that may be left out; nothing where `path` is empty.
inline std::optional<ResultFile> FileIfNamed(const std::string& path,
                                             bool may_replace) {
  if (path.empty()) return {};
  return ResultFile(path, may_replace);
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_RESULT_FILE_H_
