// Guards against a range that loses or invents a value, and against a wrong
// value that is taken for a right one: a sweep would then silently measure
// something else than what was asked for.
#include "harness/sweep/axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/error.h"
#include "harness/sweep/workload_name.h"
#include "harness/system/temporary_folder.h"
#include "tests/support/error_text.h"

namespace attnbench {
namespace {

using ::testing::AllOf;
using testing::ErrorText;
using ::testing::HasSubstr;

std::vector<AxisValue> Parse(const std::string& axis, const std::string& text) {
  return ParseAxisValues(FindAxis(axis, "test"), text, "--" + axis);
}

std::vector<AxisValue> List(const std::string& text) {
  return FromJson<std::vector<AxisValue>>(Json::parse(text), "test");
}

TEST(Axes, ListsRangesAndDoublingGiveTheirValuesInOrder) {
  EXPECT_EQ(Parse("T", "10"), List("[10]"));
  EXPECT_EQ(Parse("T", "30,10,20"), List("[30, 10, 20]"));
  EXPECT_EQ(Parse("T", "10:40:10"), List("[10, 20, 30, 40]"));
  EXPECT_EQ(Parse("T", "10:45:10"), List("[10, 20, 30, 40]"));
  EXPECT_EQ(Parse("T", "7:7:100"), List("[7]"));
  EXPECT_EQ(Parse("T", "4:128:x2"), List("[4, 8, 16, 32, 64, 128]"));
  EXPECT_EQ(Parse("T", "5:100:x3"), List("[5, 15, 45]"));
  EXPECT_EQ(Parse("T", "1,4:8:x2,100"), List("[1, 4, 8, 100]"));
  EXPECT_EQ(Parse("chunk_width", "2,inf"), List(R"([2, "inf"])"));
  EXPECT_EQ(Parse("U", "=T,5"), List(R"(["=T", 5])"));
  EXPECT_EQ(Parse("U", "=memory_length"), List(R"(["=memory_length"])"));
  EXPECT_EQ(Parse("energy", "dot,additive"), List(R"(["dot", "additive"])"));
  EXPECT_EQ(Parse("workload", "planted,bias:-2.5,wait_k:3,copy:0.01"),
            List(R"(["planted", "bias:-2.5", "wait_k:3", "copy:0.01"])"));
}

TEST(Axes, AValueThatIsWrittenTwiceIsTakenOnce) {
  EXPECT_EQ(Parse("T", "10,20,10:30:10"), List("[10, 20, 30]"));
  EXPECT_EQ(Parse("end", "absorb,absorb"), List(R"(["absorb"])"));
}

TEST(Axes, TheLargestRangeIsTakenAndOneMoreIsNot) {
  EXPECT_EQ(Parse("T", "1:100000:1").size(), kMostAxisValues);
  EXPECT_THAT(ErrorText([] { Parse("T", "1:100001:1"); }),
              HasSubstr("more than 100000 values"));
  EXPECT_THAT(ErrorText([] { Parse("T", "1:60000:1,60001:120000:1"); }),
              HasSubstr("more than 100000 values"));
}

TEST(Axes, RangesAtTheGreatestValueDoNotOverflow) {
  const std::string greatest = std::to_string(FindAxis("T", "test").greatest);
  EXPECT_EQ(Parse("T", greatest + ":" + greatest + ":x2").size(), 1U);
  EXPECT_EQ(Parse("T", "1:" + greatest + ":x1000000").size(), 3U);
  EXPECT_EQ(Parse("T", "1:" + greatest + ":" + greatest).size(), 1U);
}

TEST(Axes, WrongValuesSayWhatWasGivenWhereAndWhatIsAllowed) {
  struct Wrong {
    const char* axis;
    const char* text;
    const char* message;
  };
  const Wrong cases[] = {
      {"T", "10:5:1", "range '10:5:1' ends before it begins"},
      {"T", "0", "0 is out of range; allowed: whole numbers from 1 to"},
      {"T", "-5", "-5 is out of range"},
      {"T", "99999999999999999999", "'99999999999999999999' is out of range"},
      {"T", "2000000000000", "2000000000000 is out of range"},
      {"T", "abc", "'abc' is not a whole number"},
      {"T", "1.5", "'1.5' is not a whole number"},
      {"T", "1e3", "'1e3' is not a whole number"},
      {"T", " 1", "' 1' is not a whole number"},
      {"T", "", "'' has an empty item"},
      {"T", "10,,20", "'10,,20' has an empty item"},
      {"T", "10,", "'10,' has an empty item"},
      {"T", "1:10:0", "range '1:10:0', step: '0' is not a whole number from 1"},
      {"T", "1:10:-1", "step: '-1'"},
      {"T", "1:10:x1", "factor: '1' is not a whole number from 2"},
      {"T", "1:10:x0", "factor: '0'"},
      {"T", "1:10:", "step: ''"},
      {"T", "1:10", "'1:10' is not a range"},
      {"T", "1:2:3:4", "'1:2:3:4' is not a range"},
      {"T", "0:10:1", "'0' is not a whole number from 1"},
      {"T", "1:99999999999999999999:1", "'99999999999999999999' is not"},
      {"T", "inf", "'inf' is out of range"},
      {"U", "=Q", "unknown axis 'Q'"},
      {"U", "=energy", "'=energy' must name another axis that is a number"},
      {"U", "=U", "'=U' must name another axis"},
      {"U", "=", "unknown axis ''"},
      {"energy", "addditive", "did you mean 'additive'? valid: dot, bilinear"},
      {"mode", "train", "unknown mode 'train'"},
      {"precision", "f16", "valid: f32, f64"},
      {"workload", "unifrom", "did you mean 'uniform'?"},
      {"workload", "bias", "unknown workload 'bias'"},
      {"workload", "bias:", "needs a finite number"},
      {"workload", "bias:x", "needs a finite number"},
      {"workload", "bias:nan", "needs a finite number"},
      {"workload", "bias:1e999", "needs a finite number"},
      {"workload", "bias:inf", "needs a finite number"},
      {"workload", "bias:1 ", "needs a finite number"},
      {"workload", "symbols:8", "needs two numbers from 0 on"},
      {"workload", "symbols:8:", "needs two numbers"},
      {"workload", "symbols:-8:8", "needs two numbers"},
      {"workload", "symbols:8:nan", "needs two numbers"},
      {"workload", "symbols:8:8:8", "needs two numbers"},
      {"workload", "wait_k:0", "'0' is not a whole number from 1"},
      {"workload", "copy:0.001", "needs a share from 0.01 to 1"},
      {"workload", "copy:1.5", "needs a share"},
      {"workload", "copy:nan", "needs a share"},
      {"workload", "copy:all", "needs a share"},
      {"vocabulary", "2", "2 is out of range; allowed: whole numbers from 3"},
      {"beam", "0", "0 is out of range"},
      {"workload", "planted:", "unknown workload 'planted:'"},
      {"workload", "wait_k:-1", "'-1' is not a whole number from 1"},
      {"workload", "wait_k:1.5", "'1.5' is not a whole number from 1"},
      {"workload", "wait_k:99999999999999999999", "is not a whole number"},
      {"workload", "file:", "names a file that cannot be read"},
      {"workload", "uniform:2", "unknown workload 'uniform:2'"},
      {"workload", "file:no/such.json", "names a file that cannot be read"},
  };
  for (const Wrong& wrong : cases) {
    EXPECT_THAT(ErrorText([&] { Parse(wrong.axis, wrong.text); }),
                AllOf(::testing::StartsWith(std::string("--") + wrong.axis),
                      HasSubstr(wrong.message)))
        << wrong.axis << " " << wrong.text;
  }
}

TEST(Axes, AWorkloadFileThatCanBeReadIsAValue) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a:b.json";
  std::ofstream(path) << "{}";
  EXPECT_EQ(Parse("workload", "file:" + path),
            std::vector<AxisValue>{"file:" + path});
  EXPECT_EQ(ParseWorkload("file:" + path).path, path);
}

TEST(ParseWorkload, GivesTheParameter) {
  EXPECT_EQ(ParseWorkload("bias:-2.5").bias, -2.5);
  EXPECT_EQ(ParseWorkload("symbols:8:4.5").sharpness, 8);
  EXPECT_EQ(ParseWorkload("symbols:8:4.5").background, 4.5);
  EXPECT_EQ(ParseWorkload("wait_k:4").lag, 4);
  EXPECT_EQ(ParseWorkload("copy:0.25").share, 0.25);
}

TEST(Axes, ValuesFromFilesAreCheckedLikeThoseOfTheCommandLine) {
  const auto check = [&](const char* axis, const char* json) {
    return CheckAxisValue(FindAxis(axis, "test"), Json::parse(json),
                          "f.json: axes");
  };
  EXPECT_EQ(check("dim", "7"), AxisValue(7));
  EXPECT_EQ(check("dim", "\"7\""), AxisValue(7));
  EXPECT_EQ(check("chunk_width", "\"inf\""), AxisValue("inf"));
  for (const auto& [axis, json] :
       std::vector<std::pair<const char*, const char*>>{
           {"dim", "0"},
           {"dim", "7.5"},
           {"dim", "-1"},
           {"dim", "1e300"},
           {"dim", "18446744073709551615"},
           {"dim", "true"},
           {"dim", "null"},
           {"dim", "[7]"},
           {"dim", "{}"},
           {"dim", "\"7,8\""},
           {"energy", "3"},
           {"energy", "\"dto\""}}) {
    EXPECT_THAT(ErrorText([&, &a = axis, &j = json] { check(a, j); }),
                ::testing::StartsWith("f.json: axes: "))
        << axis << " " << json;
  }
}

TEST(Axes, EveryDefaultIsAValueOfItsAxis) {
  for (const Axis& axis : AllAxes()) {
    for (const auto& [name, mode] : ValueNames<Mode>::kAll) {
      EXPECT_EQ(Parse(axis.name, DefaultOf(axis, mode)).size(), 1U)
          << axis.name;
    }
    EXPECT_THAT(axis.help, HasSubstr("e.g. -")) << axis.name;
  }
}

TEST(Axes, ScopeAndScheduleHaveAnotherDefaultInTraining) {
  for (const Mode mode : {Mode::kExpect, Mode::kGradient}) {
    EXPECT_EQ(DefaultOf(FindAxis("scope", "x"), mode), "attention");
    EXPECT_EQ(DefaultOf(FindAxis("schedule", "x"), mode), "teacher_forced");
    EXPECT_EQ(DefaultOf(FindAxis("dim", "x"), mode), "256");
  }
  EXPECT_EQ(DefaultOf(FindAxis("scope", "x"), Mode::kDecode), "full");
  EXPECT_EQ(DefaultText(FindAxis("scope", "x")), "full; training: attention");
  EXPECT_EQ(DefaultText(FindAxis("dim", "x")), "256");
}

TEST(Axes, AnAxisIsFoundByNameAndByLetterAndNothingElse) {
  EXPECT_EQ(FindAxis("T", "x").name, "memory_length");
  EXPECT_EQ(FindAxis("chunk_width", "x").letter, "w");
  EXPECT_THAT(ErrorText([&] { FindAxis("chunk_widht", "here"); }),
              HasSubstr("here: unknown axis 'chunk_widht'; did you mean "
                        "'chunk_width'?"));
  EXPECT_THROW(FindAxis("", "x"), UserError);
}

TEST(UnknownName, TheNearestValidNameComesFirst) {
  const std::vector<std::string> valid = {"soft", "monotonic", "mocha"};
  EXPECT_EQ(UnknownName("mechanism", "moca", valid),
            "unknown mechanism 'moca'; did you mean 'mocha'? valid: soft, "
            "monotonic, mocha");
  EXPECT_EQ(UnknownName("option", "x", {}),
            "unknown option 'x'; there are none here");
}

}  // namespace
}  // namespace attnbench
