#include "harness/campaign/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/hash.h"
#include "harness/base/printable.h"
#include "harness/system/disk.h"

namespace attnbench {
namespace {

constexpr std::size_t kChecksumLength = 16;
constexpr char kNoJournal[] =
    "and is no journal of this program; move it away, or choose another -o";

std::string Checksum(std::string_view text) {
  Fnv1a hash;
  hash.Add(text);
  return hash.Hex();
}

std::string NumberedChecksum(std::size_t number, std::string_view text) {
  return Checksum(fmt::format("{} {}", number, text));
}

// Whether a line looks like one of a journal, whole or damaged.
bool HasForm(std::string_view line) {
  return line.find_first_not_of("0123456789abcdef") == kChecksumLength &&
         line.substr(kChecksumLength).starts_with(" {");
}

// Whether a file may be what a power cut leaves of a journal's first line.
bool IsTornAtOnce(std::string_view text) {
  return text.find_first_not_of('\0') == std::string_view::npos ||
         (text.size() <= kChecksumLength + 1 &&
          HasForm(std::string(text) +
                  std::string("0123456789abcdef {").substr(text.size())));
}

bool HasLineOfForm(std::string_view text) {
  while (!text.empty()) {
    if (HasForm(text)) return true;
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return false;
}

std::optional<JournalRecord> ParseLine(std::string_view line,
                                       std::size_t number,
                                       const std::string& path) {
  if (line.size() <= kChecksumLength || line[kChecksumLength] != ' ') {
    return std::nullopt;
  }
  const std::string_view text = line.substr(kChecksumLength + 1);
  const std::string_view checksum = line.substr(0, kChecksumLength);
  if (checksum == Checksum(text)) {
    throw UserError(path,
                    "is the journal of another version of this program; "
                    "--force begins anew");
  }
  if (checksum != NumberedChecksum(number, text)) return std::nullopt;
  const std::string where = fmt::format("{}: line {}", path, number);
  const Place place(where);
  const Json json = Json::parse(text, nullptr, false);
  auto record = FromJson<JournalRecord>(json, place);
  if (record.run.has_value() == record.point.has_value()) {
    FailAt(place, "is neither a run nor a point");
  }
  if (!record.point) return record;
  for (const ResultCell& cell : record.point->cells) {
    CheckCell(cell, place);
    if (cell.point != record.point->hash) {
      FailAt(place, fmt::format("has a cell of point {}, not of {}", cell.point,
                                record.point->hash));
    }
  }
  return record;
}

}  // namespace

std::string JournalLine(const JournalRecord& record, std::size_t number) {
  const std::string text = ToJson(record).dump();
  return NumberedChecksum(number, text) + " " + text + "\n";
}

JournalContents ParseJournal(std::string_view text, const std::string& path) {
  JournalContents contents;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (auto record = ParseLine(line, number, path)) {
      contents.records.push_back(*std::move(record));
    } else {
      ++contents.num_spoiled;
    }
  }
  return contents;
}

Journal::Journal(const std::string& target, std::string result,
                 std::chrono::milliseconds patience)
    : path_(target + ".journal"), result_(std::move(result)) {
  try {
    Lock(patience);
    Read();
  } catch (const UserError&) {
    if (descriptor_ >= 0) close(descriptor_);
    throw;
  }
}

Journal::~Journal() {
  if (descriptor_ < 0) return;
  if (text_.empty() && !has_points_) Remove();
  if (descriptor_ >= 0) close(descriptor_);
}

void Journal::Fail(const char* what) const {
  throw UserError(path_,
                  fmt::format("cannot be {}: {}", what, std::strerror(errno)));
}

void Journal::Open() {
  // A pipe would wait for somebody at its other end.
  constexpr int kFlags =
      O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  descriptor_ = open(path_.c_str(), kFlags, 0666);
  if (descriptor_ < 0 && errno == ELOOP) {
    throw UserError(path_, std::string("is a link ") + kNoJournal);
  }
  if (descriptor_ < 0) Fail("written");
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) Fail("read");
  if (!S_ISREG(status.st_mode)) {
    throw UserError(path_, std::string("is there ") + kNoJournal);
  }
}

// Another run may remove the file between our opening and our locking it; what
// we have locked then is no file that anybody else would find.
void Journal::Lock(std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause{20};
  const Clock::time_point deadline = Clock::now() + patience;
  bool is_told = false;
  while (true) {
    Open();
    while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) Fail("locked");
      if (Clock::now() >= deadline) {
        throw UserError(result_, "another run is writing it and has locked " +
                                     path_ + "; wait until it ends");
      }
      if (!std::exchange(is_told, true)) {
        fmt::print(stderr,
                   "attnbench: {}: another run has locked {}; waiting up to "
                   "{} s for its end\n",
                   Printable(result_), Printable(path_),
                   std::chrono::ceil<std::chrono::seconds>(patience).count());
      }
      std::this_thread::sleep_for(kPause);
    }
    if (!IsRemoved()) return;
    close(std::exchange(descriptor_, -1));
  }
}

bool Journal::IsRemoved() const {
  struct stat ours {
  }, there{};
  if (fstat(descriptor_, &ours) != 0) return false;  // nobody knows
  if (lstat(path_.c_str(), &there) != 0) {
    return errno == ENOENT || errno == ENOTDIR;
  }
  return ours.st_ino != there.st_ino || ours.st_dev != there.st_dev;
}

void Journal::Read() {
  std::array<char, 1 << 16> block{};
  while (true) {
    const ssize_t count = read(descriptor_, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) Fail("read");
    if (count == 0) break;
    text_.append(block.data(), static_cast<std::size_t>(count));
  }
  if (!text_.empty() && !IsTornAtOnce(text_) && !HasLineOfForm(text_)) {
    throw UserError(path_, std::string("is there ") + kNoJournal);
  }
  ends_in_line_ = text_.empty() || text_.back() == '\n';
  num_lines_ = static_cast<std::size_t>(
      std::count(text_.begin(), text_.end(), '\n') + (ends_in_line_ ? 0 : 1));
}

void Journal::Clear() {
  if (ftruncate(descriptor_, 0) != 0) Fail("emptied");
  text_.clear();
  has_points_ = false;
  num_lines_ = 0;
  ends_in_line_ = true;
}

void Journal::Append(const JournalRecord& record) {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) Fail("written");
  // A torn line before this one must not spoil it.
  const std::string line =
      (ends_in_line_ ? "" : "\n") + JournalLine(record, num_lines_ + 1);
  if (!WriteAll(descriptor_, line) || fsync(descriptor_) != 0) {
    const int error = errno;
    // This is best effort: half a line does no harm.
    if (ftruncate(descriptor_, status.st_size) != 0) {
      ends_in_line_ = false;
      ++num_lines_;
    }
    throw UserError(path_,
                    fmt::format("cannot be written: {}{}", std::strerror(error),
                                status.st_size == 0
                                    ? ""
                                    : "; what is in it is kept: make room, and "
                                      "--resume goes on from there"));
  }
  if (status.st_size == 0) SyncFolderOf(path_);
  ends_in_line_ = true;
  ++num_lines_;
  has_points_ = has_points_ || record.point.has_value();
}

void Journal::Remove() {
  if (!IsRemoved()) unlink(path_.c_str());
  SyncFolderOf(path_);
  close(std::exchange(descriptor_, -1));
}

}  // namespace attnbench
