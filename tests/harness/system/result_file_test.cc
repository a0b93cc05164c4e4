// Guards against half a result: a document that was cut short by a full disk,
// a temporary file that stays behind, an older result that is gone.
#include "harness/system/result_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "harness/system/temporary_folder.h"
#include "tests/support/error_text.h"

namespace attnbench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ResultFileTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_ / name; }
  std::string Text(const std::string& name) const {
    std::ifstream file(Path(name));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::size_t NumberOfFiles() const {
    return static_cast<std::size_t>(std::distance(
        fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

// No file of this process can grow beyond the limit, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes)
      : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*old_handler_)(int);
};

const Json& Document() {
  static const Json document = {{"kind", "sweep"},
                                {"context", {{"seed", 1}}},
                                {"cells", {1, {{"a", 2}}}}};
  return document;
}

Json LargeDocument() {
  Json large = Document();
  large["cells"] = std::vector<int>(10'000, 1234);
  return large;
}

TEST_F(ResultFileTest, WritesTheDocumentWithALineACell) {
  ResultFile(Path("r.json"), false).Write(Document());
  EXPECT_EQ(
      Text("r.json"),
      "{\n\"kind\": \"sweep\",\n\"context\": {\"seed\":1},\n\"cells\": [\n"
      "1,\n{\"a\":2}\n]\n}\n");
  EXPECT_EQ(Json::parse(Text("r.json")), Document());
  EXPECT_EQ(NumberOfFiles(), 1U);
}

TEST_F(ResultFileTest, ADocumentWithoutCellsIsJsonToo) {
  const Json empty = {{"cells", Json::array()}};
  ResultFile(Path("r.json"), false).Write(empty);
  EXPECT_EQ(Json::parse(Text("r.json")), empty);
}

TEST_F(ResultFileTest, CheckingAPlaceLeavesNothingBehind) {
  const ResultFile file(Path("r.json"), false);
  EXPECT_EQ(NumberOfFiles(), 0U);
}

TEST_F(ResultFileTest, AResultThatIsThereIsReplacedOnlyByForce) {
  std::ofstream(Path("r.json")) << "old";
  EXPECT_THAT(testing::ErrorText([&] { ResultFile(Path("r.json"), false); }),
              HasSubstr("r.json: is there already; --force replaces it"));
  EXPECT_EQ(Text("r.json"), "old");
  ResultFile(Path("r.json"), true).Write(Document());
  EXPECT_EQ(Json::parse(Text("r.json")), Document());
}

TEST_F(ResultFileTest, AResultThatAppearsDuringTheWorkIsReplacedOnlyByForce) {
  const ResultFile ours(Path("r.json"), false);
  const ResultFile forced(Path("r.json"), true);
  std::ofstream(Path("r.json")) << "theirs";
  EXPECT_THAT(testing::ErrorText([&] { ours.Write(Document()); }),
              HasSubstr("r.json: is there already; --force replaces it"));
  EXPECT_EQ(Text("r.json"), "theirs");
  EXPECT_EQ(NumberOfFiles(), 1U);
  forced.Write(Document());
  EXPECT_EQ(Json::parse(Text("r.json")), Document());
}

TEST_F(ResultFileTest, AFileThatIsReadIsNoOutputUnderAnyName) {
  std::ofstream(Path("case.json")) << "mine";
  fs::create_symlink("case.json", Path("link.json"));
  const auto refuse = [&](const char* output) {
    return testing::ErrorText([&] {
      RefuseToReplace({Path("none.json"), Path("case.json")}, Path(output));
    });
  };
  EXPECT_THAT(refuse("case.json"), HasSubstr("is read by this command"));
  EXPECT_THAT(refuse("link.json"), HasSubstr("is read by this command"));
  EXPECT_EQ(refuse("none.json"), "");
  EXPECT_EQ(refuse("other.json"), "");
}

TEST_F(ResultFileTest, PlacesThatCannotBeWrittenAreFoundBeforehand) {
  EXPECT_THAT(testing::ErrorText([&] { ResultFile(Path("no/r.json"), false); }),
              HasSubstr("there is no folder '" + Path("no") + "'"));
  EXPECT_THAT(testing::ErrorText([&] { ResultFile(folder_, true); }),
              HasSubstr("not a file that can be replaced"));
  EXPECT_THAT(testing::ErrorText([&] { ResultFile("/dev/full", true); }),
              HasSubstr("/dev/full: is there and is not a file"));
  EXPECT_THAT(testing::ErrorText([&] { ResultFile("", true); }),
              HasSubstr("empty"));
  std::ofstream(Path("file")) << "";
  EXPECT_THAT(
      testing::ErrorText([&] { ResultFile(Path("file/r.json"), false); }),
      HasSubstr("file/r.json: "));
  EXPECT_NE(testing::ErrorText(
                [&] { ResultFile(Path(std::string(300, 'x')), false); }),
            "");
}

TEST_F(ResultFileTest, WhatIsNoFileOfItsOwnIsNoOutput) {
  const auto refused = [](const std::string& path) {
    return testing::ErrorText([&] { ResultFile(path, true); });
  };
  EXPECT_THAT(refused("-"),
              HasSubstr("-: is no file, and a result is written"));
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  EXPECT_THAT(refused("/dev/fd/" + std::to_string(pipe_ends[1])),
              HasSubstr("is there and is not a file that can be replaced"));
  for (const int end : pipe_ends) close(end);
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  fs::create_symlink("fifo", Path("link"));
  for (const char* name : {"fifo", "link"}) {
    EXPECT_THAT(refused(Path(name)),
                HasSubstr("is not a file that can be replaced"));
  }
  EXPECT_THAT(refused(Path("new/")), HasSubstr("there is no folder"));
  EXPECT_EQ(NumberOfFiles(), 2U);
}

TEST_F(ResultFileTest, WhereTheCommandPrintsIsNoOutput) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int printed = open(Path("r.json").c_str(), O_CREAT | O_WRONLY, 0600);
    dup2(printed, STDOUT_FILENO);
    for (const std::string& path :
         {Path("r.json"), std::string("/dev/stdout")}) {
      const std::string error =
          testing::ErrorText([&] { ResultFile(path, true); });
      if (error.find("is where this command prints") == std::string::npos) {
        _exit(1);
      }
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(ResultFileTest, ALinkToNothingYetIsFollowed) {
  fs::create_symlink("there.json", folder_ / "r.json");
  ResultFile(Path("r.json"), false).Write(Document());
  EXPECT_TRUE(fs::is_symlink(folder_ / "r.json"));
  EXPECT_EQ(Json::parse(Text("there.json")), Document());
}

TEST_F(ResultFileTest, ALinkIsFollowed) {
  fs::create_directory(folder_ / "there");
  std::ofstream(folder_ / "there" / "r.json") << "old";
  fs::create_symlink(folder_ / "there" / "r.json", folder_ / "r.json");
  ResultFile(Path("r.json"), true).Write(Document());
  EXPECT_TRUE(fs::is_symlink(folder_ / "r.json"));
  EXPECT_EQ(Json::parse(Text("there/r.json")), Document());
}

TEST_F(ResultFileTest, AFullDiskLeavesTheOldResultAndNothingElse) {
  std::ofstream(Path("r.json")) << "old";
  const ResultFile file(Path("r.json"), true);
  std::string error;
  {
    const FileSizeLimit limit(4096);
    error = testing::ErrorText([&] { file.Write(LargeDocument()); });
  }
  EXPECT_THAT(error, HasSubstr("r.json: cannot be written: File too large"));
  EXPECT_EQ(Text("r.json"), "old");
  EXPECT_EQ(NumberOfFiles(), 1U);
}

TEST_F(ResultFileTest, WhatAKillHasLeftGoesWithTheNextWriteAndNothingElse) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const FileSizeLimit limit(4096);
    std::signal(SIGXFSZ, SIG_DFL);  // which ends the process
    ResultFile(Path("r.json"), false).Write(LargeDocument());
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(NumberOfFiles(), 1U);
  const std::string left = fs::directory_iterator(folder_)->path().filename();
  // These belong to other results, or may be other programs' files.
  for (const char* name : {"q.json", "r.json.backup", "r.json.unfinished-mine",
                           "r.json.unfinished-of-mine"}) {
    std::ofstream(Path(name)) << name;
  }
  std::ofstream(Path("q" + left.substr(1))) << "of q.json";
  ResultFile(Path("r.json"), false).Write(Document());
  EXPECT_FALSE(fs::exists(Path(left)));
  EXPECT_EQ(Json::parse(Text("r.json")), Document());
  EXPECT_EQ(NumberOfFiles(), 6U);
}

TEST_F(ResultFileTest, WhatARunThatIsAliveWritesIsLeftAlone) {
  // Another run starts the same result again and again.
  const ResultFile file(Path("r.json"), true);
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) ResultFile(Path("r.json"), true);
  });
  const std::string error = testing::ErrorText([&] {
    for (int n = 0; n < 50; ++n) file.Write(Document());
  });
  done = true;
  other.join();
  EXPECT_EQ(error, "");
  EXPECT_EQ(Json::parse(Text("r.json")), Document());
  EXPECT_EQ(NumberOfFiles(), 1U);
}

}  // namespace
}  // namespace attnbench
