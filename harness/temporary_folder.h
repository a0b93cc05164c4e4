// A folder of its own for the files of a while, which goes with everything in
// it.
#ifndef ATTNBENCH_HARNESS_TEMPORARY_FOLDER_H_
#define ATTNBENCH_HARNESS_TEMPORARY_FOLDER_H_

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "harness/error.h"

namespace attnbench {

class TemporaryFolder {
 public:
  // Throws UserError naming the folder that has no room for another.
  TemporaryFolder() {
    const std::filesystem::path place = std::filesystem::temp_directory_path();
    path_ = (place / "attnbench-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) {
      throw UserError(place.string(),
                      std::string("cannot make a temporary folder: ") +
                          std::strerror(errno));
    }
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TEMPORARY_FOLDER_H_
