// Writes what `compare` and `check` found as the XML that CI systems read as a
// report of tests (JUnit's, as Jenkins and GitLab take it).
#ifndef ATTNBENCH_HARNESS_ANSWERS_JUNIT_H_
#define ATTNBENCH_HARNESS_ANSWERS_JUNIT_H_

#include <string>
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

// One suite in one document. Characters that XML cannot hold become '?'.
std::string JUnitXml(const std::string& suite,
                     const std::vector<TestCase>& cases);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_ANSWERS_JUNIT_H_
