// What is printed must not move a terminal's cursor, change its colours or
// clear its screen, whoever wrote it: a peer, a result of somebody else, a file
// name. What goes out is held to that where it goes out; documents keep the
// text as it was.
#ifndef ATTNBENCH_HARNESS_BASE_PRINTABLE_H_
#define ATTNBENCH_HARNESS_BASE_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace attnbench {

// Makes of any bytes one line of UTF-8: '?' stands for a control character (C0,
// DEL and C1), and U+FFFD for bytes that are not UTF-8.
std::string Printable(const std::string& bytes);

// The same for a text of several lines, which keeps their ends, and tabs.
std::string PrintableLines(const std::string& bytes);

// As many characters of a text that somebody else wrote are repeated in a
// message: a key, a value, a file's name.
inline constexpr std::size_t kMostShown = 200;

// The text, or of one with more than `most` characters (of UTF-8; a byte that
// is none counts as one) the first and last most / 2, with their number between
// them: "aaa...(10000 characters)...aaa". What a sentence begins and ends with
// stays.
std::string Shortened(std::string_view text, std::size_t most = kMostShown);

// A number of things in words: "1 cell", "2 cells"; the plural has an s.
std::string Counted(std::size_t number, const std::string& thing);

// A text as words of Markdown as GitHub reads it, in a cell of a table or in an
// item of a list: nothing in it becomes a bar, a tag, code, emphasis,
// mathematics or a link. The end of a line becomes a blank.
std::string MarkdownText(const std::string& text);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_PRINTABLE_H_
