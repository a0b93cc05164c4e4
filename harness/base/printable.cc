#include "harness/base/printable.h"

#include <fmt/format.h>

#include <cctype>
#include <map>

#include "harness/base/json.h"

namespace attnbench {
namespace {

// The text as JSON's writer makes it UTF-8.
std::string Utf8(const std::string& bytes) {
  const auto replace = Json::error_handler_t::replace;
  return Json::parse(Json(bytes).dump(-1, ' ', false, replace))
      .get<std::string>();
}

bool IsControl(unsigned char byte) { return byte < 0x20 || byte == 0x7f; }

std::string WithoutControls(const std::string& bytes, bool keeps_lines) {
  const std::string text = Utf8(bytes);
  std::string printable;
  for (std::size_t i = 0; i < text.size(); ++i) {
    // U+0080 to U+009F, the controls of C1, are 0xc2 and this byte.
    const bool is_c1 =
        text[i] == '\xc2' && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    const bool is_kept = keeps_lines && (text[i] == '\n' || text[i] == '\t');
    const bool is_control =
        IsControl(static_cast<unsigned char>(text[i])) && !is_kept;
    printable += is_c1 || is_control ? '?' : text[i];
    if (is_c1) ++i;
  }
  return printable;
}

// Whether the character at `i` of words would begin or end markup of Markdown.
bool IsMarkup(std::string_view text, std::size_t i) {
  const auto is_one_of = [&](std::size_t at, std::string_view these) {
    return at < text.size() && these.find(text[at]) != std::string_view::npos;
  };
  const auto is_word = [&](std::size_t at) {
    return at < text.size() &&
           std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  if (is_one_of(i, "\\`*~|")) return true;
  // Inside a word it is no emphasis.
  if (text[i] == '_') return i == 0 || !is_word(i - 1) || !is_word(i + 1);
  // "[0.9, 1.1]" alone is no link.
  if (text[i] == ']') return is_one_of(i + 1, "([");
  if (i == 0) return is_one_of(i, "#+-=[");
  // "1." begins a list.
  return is_one_of(i, ".)") && text.find_first_not_of("0123456789") == i;
}

}  // namespace

std::string Printable(const std::string& bytes) {
  return WithoutControls(bytes, /*keeps_lines=*/false);
}

std::string PrintableLines(const std::string& bytes) {
  return WithoutControls(bytes, /*keeps_lines=*/true);
}

std::string Shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  // Visits the number of every character and where it starts, as what is shown
  // may be a gigabyte of which a list of starts would take eight.
  const auto visit_characters = [text](const auto& visit) {
    constexpr std::size_t kMostBytes = 4;  // of a character
    std::size_t count = 0, start = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool continues =
          (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
      if (continues && count > 0 && i - start < kMostBytes) continue;
      start = i;
      visit(count++, start);
    }
    return count;
  };
  const std::size_t count = visit_characters([](auto...) {});
  if (count <= most) return std::string(text);
  std::size_t head = 0, tail = 0;
  visit_characters([&](std::size_t number, std::size_t start) {
    if (number == most / 2) head = start;
    if (number == count - most / 2) tail = start;
  });
  return fmt::format("{}...({} characters)...{}", text.substr(0, head), count,
                     text.substr(tail));
}

std::string Counted(std::size_t number, const std::string& thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

std::string MarkdownText(const std::string& text) {
  static const std::map<char, const char*> kInstead = {
      {'\n', " "},   {'\r', " "},   {'&', "&amp;"},
      {'<', "&lt;"}, {'>', "&gt;"}, {'$', "&#36;"}};  // GitHub ignores \$
  std::string words;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (const auto found = kInstead.find(text[i]); found != kInstead.end()) {
      words += found->second;
      continue;
    }
    if (IsMarkup(text, i)) words += '\\';
    words += text[i];
  }
  return words;
}

}  // namespace attnbench
