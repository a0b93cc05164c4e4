// Writes files so that they survive a crash of program or machine, and removes
// what a killed program has left.
#ifndef ATTNBENCH_HARNESS_SYSTEM_DISK_H_
#define ATTNBENCH_HARNESS_SYSTEM_DISK_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace attnbench {

// The number of random letters and digits that mkstemp and mkdtemp put at the
// end of a name.
inline constexpr std::size_t kNumRandom = 6;

// Writes all of `text`; false, with errno, if less is written.
bool WriteAll(int descriptor, std::string_view text);

// Flushes a file's folder to the disk, without which its name is not there. A
// file system that cannot do that is no error.
void SyncFolderOf(const std::string& path);

// Whether an open file or folder has no name any more.
bool IsGone(int descriptor);

// Removes the files and folders that are named `begin` and kNumRandom letters,
// if nobody has locked them (flock): then their owners are dead. What cannot be
// locked stays.
void RemoveLeftovers(const std::filesystem::path& folder,
                     const std::string& begin);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_DISK_H_
