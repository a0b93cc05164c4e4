// What the commands on case files share: the options of a case as a checked
// setting of its mechanism, and its arrays as one sequence.
#ifndef ATTNBENCH_HARNESS_COMMANDS_CASE_REQUEST_H_
#define ATTNBENCH_HARNESS_COMMANDS_CASE_REQUEST_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/inputs/case_file.h"
#include "harness/sweep/sweep.h"
#include "harness/system/result_file.h"

namespace attnbench {

// The request for the one cell that a case asks for. An option is the variant,
// an axis `chunk_width` or `end` that the mechanism declares, or one of the
// mechanism's own, whichever mode reads it, so that one file serves all
// commands. Mode decode takes the variants exact and reference (the published
// ones of decoding are benchmark programs, which read no arrays); others take
// all that have the mode. Throws UserError naming file and option: unknown or
// out of range, `preset` beside one of the numbers that it stands for, or
// either without the variant that reads them.
SweepRequest RequestOfCase(const CaseFile& file, Mode mode);

// Throws UserError for an option that another variant than `variant` alone
// reads, and for `preset` beside one of the numbers that it stands for; `where`
// stands before the option's name.
void CheckOptionsOfVariant(const std::map<std::string, OptionValue>& options,
                           const std::string& variant,
                           const Description& description,
                           const std::string& where);

// The one cell of a request, with every value of its axes and options checked.
Cell OneCell(const SweepRequest& request);

// Gives a command the option of LAAL (harness/latency/latency.h): U by default.
inline constexpr char kReferenceLength[] = "--reference-length";
void AddReferenceLength(CLI::App& command, std::optional<Index>& value);

// Where the answer of a command on a case goes: `output`, or standard output if
// it is empty.
class AnswerFile {
 public:
  // Throws what RefuseToReplace and ResultFile throw.
  AnswerFile(const std::string& case_path, const std::string& output,
             bool may_replace);
  // Numbers have as many digits, up to 17, as restore the same double.
  void Write(const Json& answer) const;

 private:
  std::optional<ResultFile> file_;
};

// The arrays of a case as one sequence. The case outlives it; it outlives the
// sequence.
class CaseSequence {
 public:
  CaseSequence(const CaseFile& file, std::uint64_t seed);
  CaseSequence(const CaseSequence&) = delete;
  CaseSequence& operator=(const CaseSequence&) = delete;

  const Sequence<double>& sequence() const { return sequence_; }
  // If not, the memory is zeros [T, 1] and contexts mean nothing.
  bool has_memory() const { return has_memory_; }

 private:
  const bool has_memory_;
  const Table<double> memory_;
  std::vector<double> contexts_;
  Sequence<double> sequence_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_CASE_REQUEST_H_
