// What a run has finished, on the disk while it runs: a file that only grows,
// one line a record, flushed after each. Whatever ends the run (a kill, a full
// disk, the power) spoils at most the last line. Each line is a checksum and a
// JSON object, so that a line that is torn or damaged is known for what it is
// and costs itself alone. The file is locked while a run has it open, and is
// gone when the result is written.
#ifndef ATTNBENCH_HARNESS_JOURNAL_H_
#define ATTNBENCH_HARNESS_JOURNAL_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/axes.h"

namespace attnbench {

struct JournalContents {
  std::vector<Json> records;    // objects, in the order they were appended
  std::size_t num_spoiled = 0;  // lines that are torn or damaged
};

// 16 hexadecimal digits of the record's Fnv1a, a blank, the record, a line end.
std::string JournalLine(const Json& record);
JournalContents ParseJournal(std::string_view text);

// One that is open, by one run at a time.
class Journal {
 public:
  // Opens or makes the journal of the result `target` ("r.json": the file
  // "r.json.journal"); `result` is how messages call the result. Throws
  // UserError where another run has it, or where it cannot be made.
  Journal(const std::string& target, std::string result);
  // Leaves no empty file behind.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::string& path() const { return path_; }

  // What was there as it was opened.
  const JournalContents& contents() const { return contents_; }
  // Empties it.
  void Clear();
  // On the disk when this returns. Throws UserError where the disk is full or
  // gone; all that was appended before is still there.
  void Append(const Json& record);
  // The result has it all.
  void Remove();

 private:
  void Lock();
  void Read();
  [[noreturn]] void Fail(const char* what) const;

  const std::string path_;
  const std::string result_;
  int descriptor_ = -1;
  JournalContents contents_;
  bool ends_in_line_ = true;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_JOURNAL_H_
