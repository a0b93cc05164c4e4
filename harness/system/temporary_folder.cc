#include "harness/system/temporary_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "harness/base/error.h"
#include "harness/base/parse_text.h"
#include "harness/system/disk.h"

namespace attnbench {
namespace {

namespace fs = std::filesystem;

constexpr char kBegin[] = "attnbench-temporary-";

fs::path Place() {
  std::error_code error;
  fs::path place = fs::temp_directory_path(error);
  if (!error) {
    // Peers are told its path in JSON.
    CheckUtf8(place.string(), "TMPDIR");
    return place;
  }
  const char* const given = std::getenv("TMPDIR");
  throw UserError("TMPDIR",
                  fmt::format("'{}' is no folder: {}",
                              given == nullptr ? "" : given, error.message()));
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  const fs::path place = Place();
  RemoveLeftovers(place, kBegin);
  // Another program may remove the folder before we have locked it.
  do {
    if (lock_ >= 0) close(lock_);
    path_ = (place / kBegin).string() + std::string(kNumRandom, 'X');
    if (mkdtemp(path_.data()) == nullptr) {
      throw UserError(place.string(),
                      fmt::format("cannot make a temporary folder: {}",
                                  std::strerror(errno)));
    }
    lock_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } while (flock(lock_, LOCK_EX) == 0 && IsGone(lock_));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace attnbench
