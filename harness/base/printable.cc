#include "harness/base/printable.h"

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

}  // namespace

std::string Printable(const std::string& bytes) {
  return WithoutControls(bytes, /*keeps_lines=*/false);
}

std::string PrintableLines(const std::string& bytes) {
  return WithoutControls(bytes, /*keeps_lines=*/true);
}

std::string MarkdownCell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

}  // namespace attnbench
