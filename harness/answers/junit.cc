#include "harness/answers/junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "harness/base/printable.h"

namespace attnbench {
namespace {

// U+FFFE and U+FFFF, which XML cannot hold either.
bool IsNoCharacter(std::string_view bytes) {
  return bytes == "\xef\xbf\xbe" || bytes == "\xef\xbf\xbf";
}

std::string Escaped(const std::string& text) {
  const std::string printable = Printable(text);
  std::string escaped;
  for (std::size_t i = 0; i < printable.size(); ++i) {
    const char c = printable[i];
    if (IsNoCharacter(std::string_view(printable).substr(i, 3))) {
      escaped += '?';
      i += 2;
      continue;
    }
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
                     const std::vector<TestCase>& cases,
                     const TestNotes& notes) {
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
  if (!notes.properties.empty()) text += "    <properties>\n";
  for (const auto& [name, value] : notes.properties) {
    text += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n",
                        Escaped(name), Escaped(value));
  }
  if (!notes.properties.empty()) text += "    </properties>\n";
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
  text += "    <system-out>";
  for (const std::string& line : notes.lines) text += Escaped(line) + "\n";
  return text + "</system-out>\n  </testsuite>\n</testsuites>\n";
}

}  // namespace attnbench
