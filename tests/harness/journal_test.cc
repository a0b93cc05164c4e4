// Guards against a journal that loses more than the line that was damaged, that
// takes a damaged line for a good one, or that two runs write at once.
#include "harness/journal.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/error.h"
#include "harness/temporary_folder.h"

namespace attnbench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

Json Record(int number) {
  return {{"point", number}, {"text", "a\nline, and an \"end\""}};
}

TEST(ParseJournal, GivesWhatWasWritten) {
  const JournalContents contents =
      ParseJournal(JournalLine(Record(1)) + JournalLine(Record(2)));
  EXPECT_EQ(contents.records, (std::vector<Json>{Record(1), Record(2)}));
  EXPECT_EQ(contents.num_spoiled, 0U);
  EXPECT_TRUE(ParseJournal("").records.empty());
}

TEST(ParseJournal, DropsALastLineThatIsTornAnywhere) {
  const std::string first = JournalLine(Record(1));
  const std::string last = JournalLine(Record(2));
  // Without its end alone, a line is whole.
  for (std::size_t length = 1; length + 1 < last.size(); ++length) {
    const JournalContents contents =
        ParseJournal(first + last.substr(0, length));
    ASSERT_EQ(contents.records, std::vector<Json>{Record(1)}) << length;
    ASSERT_EQ(contents.num_spoiled, 1U) << length;
  }
}

TEST(ParseJournal, LosesOnlyTheLineThatIsDamaged) {
  const std::string damaged = JournalLine(Record(2));
  for (std::size_t place = 0; place + 1 < damaged.size(); ++place) {
    for (const char byte : {'\0', '0', 'x', '\n', ' '}) {
      std::string line = damaged;
      if (line[place] == byte) continue;
      line[place] = byte;
      const JournalContents contents =
          ParseJournal(JournalLine(Record(1)) + line + JournalLine(Record(3)));
      ASSERT_EQ(contents.records, (std::vector<Json>{Record(1), Record(3)}))
          << place << " " << byte;
      ASSERT_GE(contents.num_spoiled, 1U);
    }
  }
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
    EXPECT_EQ(journal.contents().records, std::vector<Json>{Record(1)});
    EXPECT_EQ(journal.contents().num_spoiled, 1U);
    journal.Append(Record(2));
    journal.Append(Record(3));
  }
  const JournalContents contents = ParseJournal(Text());
  EXPECT_EQ(contents.records,
            (std::vector<Json>{Record(1), Record(2), Record(3)}));
  EXPECT_EQ(contents.num_spoiled, 1U);
}

TEST_F(JournalFile, IsOneRunsAtATime) {
  Journal journal(target_, "r.json");
  journal.Append(Record(1));
  try {
    Journal(target_, "r.json");
    FAIL() << "a second run has it too";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("r.json: another run is writing it"));
  }
  EXPECT_EQ(Text(), JournalLine(Record(1)));
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
  std::string message;
  try {
    journal.Append(Record(2));
  } catch (const UserError& error) {
    message = error.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, ignored);
  EXPECT_THAT(message, HasSubstr(path_ + ": cannot be written: "));
  EXPECT_EQ(Text(), JournalLine(Record(1)));
  journal.Append(Record(3));
  EXPECT_EQ(Text(), JournalLine(Record(1)) + JournalLine(Record(3)));
}

}  // namespace
}  // namespace attnbench
