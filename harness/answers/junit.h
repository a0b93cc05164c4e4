// Writes what `check` found as the XML that CI systems read as a
// report of tests (JUnit's, as Jenkins and GitLab take it).
#ifndef ATTNBENCH_HARNESS_ANSWERS_JUNIT_H_
#define ATTNBENCH_HARNESS_ANSWERS_JUNIT_H_

#include <string>
#include <utility>
#include <vector>

namespace attnbench {

enum class Outcome {
  kPassed,
  kFailed,   // what was tested got worse
  kError,    // it could not be tested
  kSkipped,  // nothing can be said
};

struct TestCase {
  std::string name;
  Outcome outcome = Outcome::kPassed;
  std::string message = {};  // may be empty
};

// What is to be said of a suite beside its cases.
struct TestNotes {
  // Names, some of them again and again, and values.
  std::vector<std::pair<std::string, std::string>> properties = {};
  std::vector<std::string> lines = {};  // what the terminal says
};

// The notes on two results, whose setups have these differences.
template <class Differences>
TestNotes NotesOn(std::vector<std::string> lines,
                  const Differences& differences) {
  TestNotes notes{.lines = std::move(lines)};
  for (const auto& one : differences) {
    notes.properties.emplace_back("differs: " + one.field,
                                  one.a.dump() + " and " + one.b.dump());
  }
  return notes;
}

// One suite in one document. Characters that XML cannot hold become '?'.
std::string JUnitXml(const std::string& suite,
                     const std::vector<TestCase>& cases,
                     const TestNotes& notes);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_ANSWERS_JUNIT_H_
