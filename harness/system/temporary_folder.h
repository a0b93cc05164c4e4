// A folder of its own for the files of a while. It goes with everything in it
// when its object goes; what a program that was killed has left, the next one
// removes.
#ifndef ATTNBENCH_HARNESS_SYSTEM_TEMPORARY_FOLDER_H_
#define ATTNBENCH_HARNESS_SYSTEM_TEMPORARY_FOLDER_H_

#include <string>

namespace attnbench {

class TemporaryFolder {
 public:
  // Throws UserError naming the folder that there is not, or that has no room
  // for another.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;  // the folder, locked while its owner lives
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_TEMPORARY_FOLDER_H_
