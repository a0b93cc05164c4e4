// Finds the files that a peer's command names: its numbers follow from them,
// and they may be edited between two runs.
#ifndef ATTNBENCH_HARNESS_PEER_FILES_H_
#define ATTNBENCH_HARNESS_PEER_FILES_H_

#include <string>
#include <string_view>
#include <vector>

namespace attnbench {

// The words of a command as a shell divides it, without quotes and backslashes.
// Nothing is expanded.
std::vector<std::string> CommandWords(std::string_view command);

// The readable files among the words of a command, and the *.py files beside a
// *.py file, which it may import.
std::vector<std::string> PeerFiles(const std::string& command);

// The command, with a hash of the contents of its PeerFiles. It is
// empty for an empty command. Files that are found over a search path (the
// interpreter, installed packages) are not hashed; the peer's description has
// their versions.
std::string PeerIdentity(const std::string& command);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_PEER_FILES_H_
