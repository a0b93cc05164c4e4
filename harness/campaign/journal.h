// The journal keeps what a run has finished on the disk while it runs: a file
// that only grows, one line a record, flushed after each. Whatever ends the run
// (a kill, a full disk, the power) spoils at most the last line. Each line is a
// checksum and a record, so that a line that is torn or damaged is known for
// what it is and costs itself alone. The checksum covers the number of the
// line, so that one that was moved or copied is known, too. The file is locked
// while a run has it open, and is gone when the result is written.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_JOURNAL_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_JOURNAL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/results/cell.h"

namespace attnbench {

// The start of a run, with its context as far as it is known then.
struct RunRecord {
  SweepContext context;
  // Whether the run goes on from the points of the existing result. A resumed
  // run adds another record.
  bool continues_result = false;

  static void Fields(auto& self, auto& visit) {
    visit("context", self.context);
    visit("continues_result", self.continues_result);
  }
};

// What a process has measured of a point. It repeats its run as judged so far,
// and the FingerprintHash of the run's context: so a killed run has said how
// busy the machine was, and points stay usable if the run's own line is
// damaged.
struct PointRecord {
  std::string hash;
  std::int64_t process = 0;
  std::vector<ResultCell> cells;
  std::optional<Calibration> calibration;
  MeasuringRun run;
  std::string machine;

  static void Fields(auto& self, auto& visit) {
    visit("hash", self.hash, kPointName);
    visit("process", self.process, kAtLeastZero);
    visit("cells", self.cells);
    visit("calibration", self.calibration);
    visit("run", self.run);
    visit("machine", self.machine, kPointName);
  }
};

// A record is one of these two.
struct JournalRecord {
  std::optional<RunRecord> run = {};
  std::optional<PointRecord> point = {};

  static void Fields(auto& self, auto& visit) {
    visit("run", self.run, Rule{.absent_if_unset = true});
    visit("point", self.point, Rule{.absent_if_unset = true});
  }
};

struct JournalContents {
  std::vector<JournalRecord> records;  // in the order they were appended
  std::size_t num_spoiled = 0;         // lines that are torn or damaged
};

// Line `number`, from 1 on: 16 hexadecimal digits of the Fnv1a of number and
// record, a blank, the record, a line end.
std::string JournalLine(const JournalRecord& record, std::size_t number);
// Throws UserError naming `path` and the line if an undamaged line is no such
// record, or if the journal is older than line numbers.
JournalContents ParseJournal(std::string_view text, const std::string& path);

// An open journal; one run at a time has it.
class Journal {
 public:
  // Opens or makes the journal of the result `target` ("r.json": the file
  // "r.json.journal"); `result` is how messages call the result. Waits for
  // `patience` if another run has it, and says so: what was killed holds its
  // locks until the system has taken back its memory. Throws UserError if that
  // run still has it then, if it cannot be made, or if what is there
  // is no journal: a link, a pipe, another program's file.
  Journal(const std::string& target, std::string result,
          std::chrono::milliseconds patience = kPatience);
  // Removes the file if it has no point and is of this run alone.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  static constexpr std::chrono::seconds kPatience{5};

  const std::string& path() const { return path_; }
  // Whether somebody has removed the file, or its folder.
  bool IsRemoved() const;

  // The journal's contents when it was opened. Throws as ParseJournal does.
  JournalContents Contents() const { return ParseJournal(text_, path_); }
  // Empties the file.
  void Clear();
  // The record is on the disk when this returns. Throws UserError if the disk
  // is full or gone; earlier records are still there.
  void Append(const JournalRecord& record);
  // Removes the file, once the result has everything.
  void Remove();

 private:
  void Open();
  void Lock(std::chrono::milliseconds patience);
  void Read();
  [[noreturn]] void Fail(const char* what) const;

  const std::string path_;
  const std::string result_;
  int descriptor_ = -1;
  std::string text_;  // the file's text when it was opened
  std::size_t num_lines_ = 0;
  bool ends_in_line_ = true;
  bool has_points_ = false;  // of this run
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_JOURNAL_H_
