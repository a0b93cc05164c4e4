#include "harness/answers/junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/printable.h"

namespace attnbench {
namespace {

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : Printable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

const char* ElementOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFailed:
      return "failure";
    case Outcome::kError:
      return "error";
    default:
      return "skipped";
  }
}

}  // namespace

std::string JUnitXml(const std::string& suite,
                     const std::vector<TestCase>& cases) {
  const auto count = [&](Outcome outcome) {
    return std::ranges::count(cases, outcome, &TestCase::outcome);
  };
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites>\n"
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
      "skipped=\"{}\">\n",
      Escaped(suite), cases.size(), count(Outcome::kFailed),
      count(Outcome::kError), count(Outcome::kSkipped));
  for (const TestCase& one : cases) {
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"",
                        Escaped(suite), Escaped(one.name));
    if (one.outcome != Outcome::kPassed) {
      text += fmt::format("><{} message=\"{}\"/></testcase>\n",
                          ElementOf(one.outcome), Escaped(one.message));
    } else if (one.message.empty()) {
      text += "/>\n";
    } else {
      text += fmt::format("><system-out>{}</system-out></testcase>\n",
                          Escaped(one.message));
    }
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace attnbench
