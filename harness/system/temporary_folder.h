// A folder for temporary files. It is removed with everything in it when its
// object goes; the next program removes what a killed one has left.
#ifndef ATTNBENCH_HARNESS_SYSTEM_TEMPORARY_FOLDER_H_
#define ATTNBENCH_HARNESS_SYSTEM_TEMPORARY_FOLDER_H_

#include <string>

namespace attnbench {

class TemporaryFolder {
 public:
  // Throws UserError naming the folder that does not exist or has no room.
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
