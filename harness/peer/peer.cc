#include "harness/peer/peer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/base/error.h"

namespace attnbench {
namespace {

// Runs the command in a shell with our environment, but with one thread for
// every library that would otherwise take all cores at its start; the peer sets
// the number of threads of a cell. Freed memory stays with the peer, as it does
// with us (harness/system/process_start.h).
ChildProcess::Command ShellCommand(const std::string& command) {
  return {.arguments = {"/bin/sh", "-c", "exec " + command},
          .environment =
              EnvironmentWith({"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1",
                               "MKL_NUM_THREADS=1", "MALLOC_MMAP_MAX_=0",
                               "MALLOC_TRIM_THRESHOLD_=-1"})};
}

// The text of a refusal, which may be no text.
std::string ReasonText(const Json& reason) {
  return reason.is_string() ? reason.get<std::string>() : reason.dump();
}

}  // namespace

PeerInfo ParsePeerInfo(const Json& answer) {
  try {
    auto info = FromJson<PeerInfo>(answer, "its answer to 'describe'");
    for (const PeerVariant& one : info.variants) {
      const auto same = std::ranges::count_if(
          info.variants, [&one](const PeerVariant& other) {
            return other.mechanism == one.mechanism && other.name == one.name;
          });
      if (same == 1) continue;
      throw PeerError(fmt::format(
          "describes itself wrongly: variant '{}' of {} is there twice",
          one.name, one.mechanism));
    }
    return info;
  } catch (const UserError& error) {
    throw PeerError(std::string("describes itself wrongly: ") + error.what());
  }
}

Peer::Peer(const std::string& command, std::chrono::seconds limit)
    : command_(command), limit_(limit) {
  try {
    info_ = ParsePeerInfo(Call(DescribeCall()));
  } catch (const std::exception& error) {
    throw UserError("--peer",
                    fmt::format("'{}' {}", Shown(command_), error.what()));
  }
}

void Peer::Start() {
  process_ = std::make_unique<ChildProcess>(ShellCommand(command_));
  ++generation_;
}

std::string Peer::Path(const std::string& name) const {
  return folder_.path() + "/" + name;
}

// Stops the peer, and throws an error with its last words.
template <class Error>
void Peer::Fail(const std::string& what) {
  const ProcessEnd end = process_->Stop();
  std::string text = what;
  if (what.empty()) {
    text =
        (end.lingered.count() > 0 ? "closed its output and " : "") + end.Text();
  }
  const std::string words = process_->LastWords();
  if (!words.empty()) text += ": " + words;
  process_.reset();
  throw Error(text);
}

Json Peer::Send(const std::string& call, const Json& request) {
  if (process_ == nullptr) Start();
  const auto deadline = ChildProcess::Clock::now() + limit_;
  // A peer that has ended may still have left an answer, so read even if it did
  // not listen.
  process_->Send(request.dump() + "\n", deadline);
  const std::optional<std::string> line = process_->ReadLine(deadline);
  if (!line.has_value()) {
    if (process_->HasEnded()) Fail("");
    process_->Kill();
    Fail<PeerTimeout>(fmt::format("gave no answer to '{}' within {} s", call,
                                  limit_.count()));
  }
  Json answer = ParseMessage(*line);
  if (!answer.is_object()) {
    process_->Kill();
    Fail(
        fmt::format("answered '{}', which is no object of JSON", Shown(*line)));
  }
  if (answer.contains("skipped")) {
    throw Unsupported(ReasonText(answer["skipped"]));
  }
  if (answer.contains("error")) throw PeerError(ReasonText(answer["error"]));
  return answer;
}

}  // namespace attnbench
