// Guards against a journal that loses more than the line that was damaged, that
// takes a damaged line for a good one, or that two runs write at once.
#include "harness/campaign/journal.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "harness/base/error.h"
#include "harness/base/hash.h"
#include "harness/system/temporary_folder.h"
#include "tests/support/error_text.h"
#include "tests/support/made_up_results.h"

namespace attnbench {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

JournalRecord Record(int number) {
  PointRecord point;
  point.hash = std::string(15, '0') + std::to_string(number);
  point.machine = "0123456789abcdef";
  point.run.command = "a\nline, and an \"end\"";
  return {.point = point};
}

// The lines of these records, one after another.
std::string Lines(const std::vector<JournalRecord>& records) {
  std::string text;
  std::size_t number = 0;
  for (const JournalRecord& record : records) {
    text += JournalLine(record, ++number);
  }
  return text;
}

JournalContents Parse(const std::string& text) {
  return ParseJournal(text, "r.json.journal");
}

// The numbers of the records that came back.
std::vector<int> Numbers(const JournalContents& contents) {
  std::vector<int> numbers;
  for (const JournalRecord& record : contents.records) {
    numbers.push_back(record.point->hash.back() - '0');
  }
  return numbers;
}

std::string ErrorOf(const std::string& text) {
  return testing::ErrorText([&] { Parse(text); });
}

// A line with a right checksum, whatever its text is.
std::string LineOf(const std::string& json, std::size_t number) {
  Fnv1a hash;
  hash.Add(std::to_string(number) + " " + json);
  return hash.Hex() + " " + json + "\n";
}

TEST(ParseJournal, GivesWhatWasWritten) {
  const JournalContents contents = Parse(Lines({Record(1), Record(2)}));
  EXPECT_THAT(Numbers(contents), ElementsAre(1, 2));
  EXPECT_EQ(ToJson(contents.records[1]), ToJson(Record(2)));
  EXPECT_EQ(contents.num_spoiled, 0U);
  EXPECT_TRUE(Parse("").records.empty());
}

TEST(ParseJournal, DropsALastLineThatIsTornAnywhere) {
  const std::string first = Lines({Record(1)});
  const std::string last = JournalLine(Record(2), 2);
  // A line that lacks only its end is whole.
  for (std::size_t length = 1; length + 1 < last.size(); ++length) {
    const JournalContents contents = Parse(first + last.substr(0, length));
    ASSERT_THAT(Numbers(contents), ElementsAre(1)) << length;
    ASSERT_EQ(contents.num_spoiled, 1U) << length;
  }
}

TEST(ParseJournal, LosesOnlyTheLineThatIsDamaged) {
  const std::string damaged = JournalLine(Record(2), 2);
  for (std::size_t place = 0; place + 1 < damaged.size(); ++place) {
    for (const char byte : {'\0', '0', 'x', ' '}) {
      std::string line = damaged;
      if (line[place] == byte) continue;
      line[place] = byte;
      const JournalContents contents =
          Parse(JournalLine(Record(1), 1) + line + JournalLine(Record(3), 3));
      ASSERT_THAT(Numbers(contents), ElementsAre(1, 3)) << place << " " << byte;
      ASSERT_EQ(contents.num_spoiled, 1U);
    }
  }
}

TEST(ParseJournal, ALineThatWasMovedOrCopiedIsSpoiled) {
  const std::string one = JournalLine(Record(1), 1);
  const std::string two = JournalLine(Record(2), 2);
  const std::string three = JournalLine(Record(3), 3);
  const JournalContents swapped = Parse(two + one + three);
  EXPECT_THAT(Numbers(swapped), ElementsAre(3));
  EXPECT_EQ(swapped.num_spoiled, 2U);
  EXPECT_THAT(Numbers(Parse(one + two + one)), ElementsAre(1, 2));
}

TEST(ParseJournal, RefusesARecordOfAnotherShapeByItsLine) {
  const std::string first = Lines({Record(1)});
  EXPECT_THAT(ErrorOf(first + LineOf("{}", 2)),
              HasSubstr("r.json.journal: line 2: is neither a run nor a "
                        "point"));
  EXPECT_THAT(ErrorOf(first + LineOf("[]", 2)), HasSubstr("line 2: [] is no "));
  EXPECT_THAT(ErrorOf(first + LineOf("half", 2)), HasSubstr("line 2"));
  EXPECT_THAT(ErrorOf(LineOf(R"({"run": 5})", 1)),
              HasSubstr("line 1: run: 5 is no object"));
  Json point = ToJson(Record(1));
  point["point"]["hash"] = "sofa";
  EXPECT_THAT(ErrorOf(LineOf(point.dump(), 1)),
              HasSubstr("line 1: point.hash: \"sofa\" does not match"));
}

TEST(ParseJournal, RefusesACellThatDoesNotGoTogether) {
  JournalRecord record = Record(1);
  ResultCell cell = testing::MadeUpResultCell("soft", 1, {10.0, 11.0, 12.0});
  ASSERT_EQ(cell.point, record.point->hash);
  record.point->cells = {cell};
  EXPECT_EQ(ErrorOf(Lines({record})), "");
  Json json = ToJson(record);
  json["point"]["cells"][0].erase("status");
  EXPECT_THAT(ErrorOf(LineOf(json.dump(), 1)),
              HasSubstr("line 1: point.cells[0]: has no 'status'"));
  record.point->cells[0].status = CellStatus::kTimeout;
  EXPECT_THAT(ErrorOf(Lines({record})), HasSubstr("line 1: is timeout and has "
                                                  "no message"));
  cell.point = "ffffffffffffffff";
  record.point->cells = {cell};
  EXPECT_THAT(ErrorOf(Lines({record})),
              HasSubstr("line 1: has a cell of point ffffffffffffffff"));
}

TEST(ParseJournal, RefusesTheJournalOfAProgramThatDidNotNumberItsLines) {
  const std::string text = R"({"point": "a"})";
  Fnv1a hash;
  hash.Add(text);
  EXPECT_THAT(ErrorOf(hash.Hex() + " " + text + "\n"),
              HasSubstr("another version of this program; --force begins"));
}

class JournalFile : public ::testing::Test {
 protected:
  std::string Text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  const std::string target_ = folder_ / "r.json";
  const std::string path_ = target_ + ".journal";
};

TEST_F(JournalFile, KeepsWhatIsAppendedAndGoesOnAfterATornLine) {
  { Journal(target_, "r.json").Append(Record(1)); }
  std::ofstream(path_, std::ios::app) << "0123 torn";
  {
    Journal journal(target_, "r.json");
    EXPECT_THAT(Numbers(journal.Contents()), ElementsAre(1));
    EXPECT_EQ(journal.Contents().num_spoiled, 1U);
    journal.Append(Record(2));
    journal.Append(Record(3));
  }
  const JournalContents contents = Parse(Text());
  EXPECT_THAT(Numbers(contents), ElementsAre(1, 2, 3));
  EXPECT_EQ(contents.num_spoiled, 1U);
}

TEST_F(JournalFile, WhatIsNoJournalIsRefusedAndLeftAsItIs) {
  const auto error_of_opening = [this]() -> std::string {
    return testing::ErrorText([&] { Journal(target_, "r.json"); });
  };
  for (const char* text : {"dear diary\n", "\n\n", "{}", "0123456789abcdef0 {",
                           "0123456789ABCDEF {"}) {
    std::ofstream(path_) << text;
    EXPECT_THAT(error_of_opening(), HasSubstr("is there and is no journal"));
    EXPECT_EQ(Text(), text);
  }
  fs::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(error_of_opening(), HasSubstr("is there and is no journal"));
  EXPECT_TRUE(fs::is_fifo(path_));
  for (const char* other : {"other", "/dev/null", "none"}) {
    std::ofstream(folder_ / "other") << Lines({Record(1)});
    fs::remove(path_);
    fs::create_symlink(other, path_);
    EXPECT_THAT(error_of_opening(), HasSubstr("is a link and is no journal"));
    EXPECT_TRUE(fs::is_symlink(path_));
  }
}

TEST_F(JournalFile, WhatAPowerCutLeavesOfItsFirstLineIsSpoiled) {
  for (const std::string& text :
       {std::string(5, '\0'), std::string("0123"),
        std::string("0123456789abcdef"), std::string("0123456789abcdef ")}) {
    std::ofstream(path_, std::ios::binary) << text;
    const Journal journal(target_, "r.json");
    EXPECT_EQ(journal.Contents().num_spoiled, 1U) << text;
  }
}

TEST_F(JournalFile, KnowsThatSomebodyHasRemovedIt) {
  Journal journal(target_, "r.json");
  journal.Append(Record(1));
  EXPECT_FALSE(journal.IsRemoved());
  fs::remove(path_);
  EXPECT_TRUE(journal.IsRemoved());
  std::ofstream(path_) << "another's";
  EXPECT_TRUE(journal.IsRemoved());
  journal.Remove();
  EXPECT_EQ(Text(), "another's");
}

TEST_F(JournalFile, IsOneRunsAtATime) {
  Journal journal(target_, "r.json");
  journal.Append(Record(1));
  EXPECT_THAT(testing::ErrorText([&] {
                Journal(target_, "r.json", std::chrono::milliseconds(1));
              }),
              HasSubstr("r.json: another run is writing it"));
  EXPECT_EQ(Text(), Lines({Record(1)}));
}

// What was killed holds its lock for as long as the system takes its memory
// back.
TEST_F(JournalFile, IsWaitedForWhereAnotherRunIsAboutToEnd) {
  auto other = std::make_unique<Journal>(target_, "r.json");
  other->Append(Record(1));
  std::jthread end([&other] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    other.reset();
  });
  ::testing::internal::CaptureStderr();
  const Journal journal(target_, "r.json", std::chrono::minutes(1));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("r.json: another run has locked " + path_ +
                        "; waiting up to 60 s for its end\n"));
  EXPECT_THAT(Numbers(journal.Contents()), ElementsAre(1));
}

TEST_F(JournalFile, LeavesNothingOfARunThatFailedBeforeItsFirstPoint) {
  {
    Journal journal(target_, "r.json");
    journal.Append({.run = RunRecord{}});
  }
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(JournalFile, LeavesNothingThatIsEmpty) {
  { const Journal journal(target_, "r.json"); }
  EXPECT_FALSE(fs::exists(path_));
  {
    Journal journal(target_, "r.json");
    journal.Append(Record(1));
    journal.Clear();
  }
  EXPECT_FALSE(fs::exists(path_));
  Journal journal(target_, "r.json");
  journal.Append(Record(1));
  journal.Remove();
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(JournalFile, IsAsItWasWhereTheDiskIsFull) {
  Journal journal(target_, "r.json");
  journal.Append(Record(1));
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = fs::file_size(path_) + 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string message =
      testing::ErrorText([&] { journal.Append(Record(2)); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, ignored);
  EXPECT_THAT(message, HasSubstr(path_ + ": cannot be written: "));
  EXPECT_EQ(Text(), Lines({Record(1)}));
  journal.Append(Record(3));
  EXPECT_EQ(Text(), Lines({Record(1), Record(3)}));
}

}  // namespace
}  // namespace attnbench
