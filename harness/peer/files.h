// The files that a peer's command names: what it computes follows from them,
// and they may be edited between two runs.
#ifndef ATTNBENCH_HARNESS_PEER_FILES_H_
#define ATTNBENCH_HARNESS_PEER_FILES_H_

#include <string>
#include <string_view>
#include <vector>

namespace attnbench {

// Words of a command as a shell divides it, without quotes and backslashes.
// Nothing is expanded.
std::vector<std::string> CommandWords(std::string_view command);

// The command and a hash of what stands in every word of it that is a file that
// can be read, and in the *.py files beside one that is called *.py, which it
// may import. Empty for an empty command. Not in it: what is found over a
// search path (the interpreter, installed packages); their versions are what
// the peer says of itself.
std::string PeerIdentity(const std::string& command);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_PEER_FILES_H_
