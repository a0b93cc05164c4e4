// Guards against a text of somebody else that moves the cursor, clears the
// screen, or, not being UTF-8, ends the program that writes it into a document.
#include "harness/base/printable.h"

#include <gtest/gtest.h>

#include "harness/base/json.h"

namespace attnbench {
namespace {

TEST(Printable, TextStaysAsItIs) {
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable("a b~ \u00e4\u00a0\u03b1\u2026"),
            "a b~ \u00e4\u00a0\u03b1\u2026");
}

TEST(Printable, EveryControlCharacterIsAQuestionMark) {
  EXPECT_EQ(Printable("\x1b[31mred\r\n\t\x7f"), "?[31mred????");
  EXPECT_EQ(Printable(std::string("\0", 1)), "?");
  EXPECT_EQ(Printable("\u0080\u009b2J\u009f"), "??2J?");
}

TEST(Printable, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(Printable("a\xff"), "a\ufffd");
  EXPECT_EQ(Printable("\x9b"), "\ufffd");
  EXPECT_EQ(Printable("torn \xc3"), "torn \ufffd");
}

TEST(Printable, OnlyLinesKeepTheirEndsAndTabs) {
  EXPECT_EQ(PrintableLines("a\r\n\t\x1b\u009b\n"), "a?\n\t??\n");
}

TEST(MarkdownText, NothingBecomesMarkup) {
  EXPECT_EQ(MarkdownText("a_b [0.9, 1.1] 1.5 x: 3 - 2 #1"),
            "a_b [0.9, 1.1] 1.5 x: 3 - 2 #1");
  EXPECT_EQ(MarkdownText("a|b `c` *d* ~~e~~ \\f"),
            "a\\|b \\`c\\` \\*d\\* \\~\\~e\\~\\~ \\\\f");
  EXPECT_EQ(MarkdownText("_a_ $x$ <b>&amp;"),
            "\\_a\\_ &#36;x&#36; &lt;b&gt;&amp;amp;");
  EXPECT_EQ(MarkdownText("[a](b) [a][b]"), "\\[a\\](b) [a\\][b]");
  EXPECT_EQ(MarkdownText("# a\r\n# b"), "\\# a  # b");
  EXPECT_EQ(MarkdownText("12. a"), "12\\. a");
}

TEST(JsonText, ControlCharactersAreEscapedAndReadAsTheyWere) {
  const Json document = {{"a\x7f", "\u009b2J\n\u00e4"}};
  EXPECT_EQ(JsonText(document), "{\"a\\u007f\":\"\\u009b2J\\n\\u00e4\"}\n");
  EXPECT_EQ(Json::parse(JsonText(document, 2)), document);
}

TEST(Shortened, ALongTextKeepsItsEndsAndTellsItsLength) {
  EXPECT_EQ(Shortened(std::string(200, 'a')), std::string(200, 'a'));
  EXPECT_EQ(Shortened(std::string(10'000, 'a') + "z"),
            std::string(100, 'a') + "...(10001 characters)..." +
                std::string(99, 'a') + "z");
  EXPECT_EQ(Shortened("0123456789", 4), "01...(10 characters)...89");
}

TEST(Shortened, NoCharacterIsCut) {
  std::string text;
  for (int n = 0; n < 10; ++n) text += "\u20ac";
  EXPECT_EQ(Shortened(text, 10), text);
  EXPECT_EQ(Shortened(text, 4),
            "\u20ac\u20ac...(10 characters)...\u20ac\u20ac");
  // No byte of these begins a character.
  EXPECT_LT(Shortened(std::string(10'000, '\x80')).size(), 1000U);
}

TEST(Counted, OneThingHasNoS) {
  EXPECT_EQ(Counted(0, "cell"), "0 cells");
  EXPECT_EQ(Counted(1, "cell"), "1 cell");
}

}  // namespace
}  // namespace attnbench
