// Writing so that what was written is there after whatever comes, and removing
// what a program that was killed has left.
#ifndef ATTNBENCH_HARNESS_SYSTEM_DISK_H_
#define ATTNBENCH_HARNESS_SYSTEM_DISK_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace attnbench {

// How many random letters and digits mkstemp and mkdtemp put at the end of a
// name.
inline constexpr std::size_t kNumRandom = 6;

// All of `text`; false, with errno, where less is written.
bool WriteAll(int descriptor, std::string_view text);

// A name is on the disk only when its folder is; a file system that cannot do
// that has the file all the same.
void SyncFolderOf(const std::string& path);

// Whether an open file or folder has no name any more.
bool IsGone(int descriptor);

// Removes the files and folders that are named `begin` and kNumRandom letters
// and that nobody has locked (flock): their owners are dead. What cannot be
// locked stays.
void RemoveLeftovers(const std::filesystem::path& folder,
                     const std::string& begin);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_DISK_H_
