// Guards against a text of somebody else that moves the cursor, clears the
// screen, or, not being UTF-8, ends the program that writes it into a document.
#include "harness/base/printable.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace attnbench
