// Another program that computes what our mechanisms do, to be measured beside
// them: a tensor framework, somebody else's library. It is a process of its
// own, started once, that answers one line of JSON with one line of JSON, and
// takes its own time around its own trials, so that the pipe is in no figure.
// Arrays travel as files (harness/peer/messages.h).
// experiments/peers/protocol.py is the other end, with what every call wants
// and gives.
#ifndef ATTNBENCH_HARNESS_PEER_PEER_H_
#define ATTNBENCH_HARNESS_PEER_PEER_H_

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/peer/messages.h"
#include "harness/sweep/sweep.h"
#include "harness/system/child_process.h"
#include "harness/system/temporary_folder.h"

namespace attnbench {

// The peer died, hung, gave no valid answer, or reports an error of its own.
class PeerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The peer hung: with a higher --peer-limit it might have answered.
class PeerTimeout : public PeerError {
 public:
  using PeerError::PeerError;
};

// Throws PeerError for an answer that does not describe a peer of this protocol
// and version, or offers what does not exist here.
PeerInfo ParsePeerInfo(const Json& answer);

// This class is not thread-safe. Once the destructor returns, the process is
// gone.
class Peer {
 public:
  // Starts `command`, as a shell reads it, and asks what it offers. An answer
  // that takes longer than `limit` is none. Throws UserError naming --peer.
  Peer(const std::string& command, std::chrono::seconds limit);
  ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const PeerInfo& info() const { return info_; }

  // Gives the answer, an object, to one of the calls in messages.h. A peer that
  // is gone is started anew first; a peer that gives no answer is stopped.
  // Throws PeerError, with the last line that the peer wrote to stderr if it
  // says why (PeerTimeout if there was no answer within the limit), and
  // Unsupported for the answer {"skipped": why}.
  template <class Request>
  Json Call(const Request& request) {
    return Send(request.call, ToJson(request));
  }
  // Gives the answer as its type. Throws PeerError also if it does not fit.
  template <class Answer, class Request>
  Answer Ask(const Request& request) {
    const Json answer = Call(request);
    try {
      return FromJson<Answer>(answer, "its answer to '" + request.call + "'");
    } catch (const UserError& error) {
      throw PeerError(error.what());
    }
  }

  // Counts the starts. A process takes what it held with it.
  int generation() const { return generation_; }
  bool StillRuns(int generation) const {
    return process_ != nullptr && generation == generation_;
  }

  // A path in this peer's temporary folder, which is removed with it.
  std::string Path(const std::string& name) const;

 private:
  void Start();
  Json Send(const std::string& call, const Json& request);
  template <class Error = PeerError>
  [[noreturn]] void Fail(const std::string& what);

  const std::string command_;
  const std::chrono::seconds limit_;
  const TemporaryFolder folder_;
  std::unique_ptr<ChildProcess> process_;  // null if not running
  int generation_ = 0;
  PeerInfo info_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_PEER_PEER_H_
