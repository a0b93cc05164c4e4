// Guards against an exclusion that leaves out other cells than it says, or that
// does nothing because of a misspelt value and is not noticed.
#include "harness/sweep/exclusions.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/support/error_text.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

// The sweep has soft and mocha over T = 4, 8; U = 4, 8 and w = 2, inf: 4 + 8
// cells.
SweepRequest Request(const std::vector<Exclusion>& exclusions) {
  SweepRequest request;
  request.axes = {{"memory_length", {4, 8}},
                  {"output_length", {4, 8}},
                  {"chunk_width", {2, "inf"}}};
  request.alternatives = {{"soft", {}, {}}, {"mocha", {}, {}}};
  request.exclusions = exclusions;
  return request;
}

// Names each cell that stays as "mechanism T U w".
std::set<std::string> Kept(const std::vector<Exclusion>& exclusions) {
  const Sweep sweep = ExpandSweep(Request(exclusions));
  std::set<std::string> kept;
  for (const Point& point : sweep.points) {
    EXPECT_FALSE(point.cells.empty());
    for (const Cell& cell : point.cells) {
      std::string text = cell.mechanism;
      for (const char* axis :
           {"memory_length", "output_length", "chunk_width"}) {
        text += " " + cell.axes.at(axis).Shown();
      }
      kept.insert(text);
    }
  }
  EXPECT_EQ(kept.size() + sweep.num_excluded, 12U);
  return kept;
}

TEST(Exclusions, WithoutAnyEverythingStays) { EXPECT_EQ(Kept({}).size(), 12U); }

TEST(Exclusions, AllThatIsSaidMustHold) {
  const auto kept = Kept({{{"mocha"}, {{"memory_length", {8}}}}});
  EXPECT_EQ(kept.size(), 8U);
  EXPECT_TRUE(kept.contains("soft 8 4 -"));
  EXPECT_TRUE(kept.contains("mocha 4 8 inf"));
  EXPECT_FALSE(kept.contains("mocha 8 4 2"));
}

TEST(Exclusions, OneOfTheValuesIsEnough) {
  EXPECT_EQ(Kept({{{"soft", "mocha"},
                   {{"memory_length", {4, 8, 16}}, {"output_length", {8}}}}})
                .size(),
            6U);
}

TEST(Exclusions, AnAxisThatAMechanismDoesNotHaveIsNoneOfTheValues) {
  const auto kept = Kept({{{}, {{"chunk_width", {"inf"}}}}});
  EXPECT_EQ(kept.size(), 8U);
  EXPECT_TRUE(kept.contains("soft 4 4 -"));
  // Soft has neither axis, and two missing axes are not equal values.
  EXPECT_EQ(Kept({{{}, {{"chunk_width", {"=K"}}}}}).size(), 12U);
}

TEST(Exclusions, AValueCanReferToAnotherAxisOfTheCell) {
  const auto kept = Kept({{{}, {{"output_length", {"=T"}}}}});
  EXPECT_EQ(kept.size(), 6U);
  EXPECT_TRUE(kept.contains("soft 4 8 -"));
  EXPECT_FALSE(kept.contains("soft 8 8 -"));
}

TEST(Exclusions, APointWithoutCellsIsNoPoint) {
  const Sweep sweep = ExpandSweep(Request({{{}, {{"memory_length", {4}}}}}));
  EXPECT_EQ(sweep.points.size(), 2U);
}

TEST(Exclusions, LeavingNothingIsAnError) {
  EXPECT_THAT(testing::ErrorText([] {
                ExpandSweep(Request({{{"soft", "mocha"}, {}}}));
              }),
              HasSubstr("exclusions: leave no cell"));
}

std::string ErrorOf(const std::vector<SweepRequest>& requests) {
  return testing::ErrorText(
      [&] { CheckExclusions(requests, "e.json: exclusions"); });
}

TEST(Exclusions, OneThatHoldsForNoCellIsAnError) {
  const Exclusion good = {{"soft"}, {}};
  const Exclusion useless = {{"soft"}, {{"memory_length", {5}}}};
  EXPECT_EQ(ErrorOf({Request({good})}), "");
  EXPECT_THAT(ErrorOf({Request({good, useless})}),
              HasSubstr("e.json: exclusions[1]: leaves nothing out"));
}

TEST(Exclusions, OneProfileInWhichItHoldsIsEnough) {
  const SweepRequest full = Request({{{}, {{"memory_length", {16}}}}});
  SweepRequest quick = full;
  quick.axes["memory_length"] = {16};
  EXPECT_EQ(ErrorOf({full, quick}), "");
}

TEST(Exclusions, OneThatAnotherCoversIsNotUseless) {
  EXPECT_EQ(ErrorOf({Request(
                {{{"soft"}, {}}, {{"soft"}, {{"memory_length", {4}}}}})}),
            "");
}

}  // namespace
}  // namespace attnbench
