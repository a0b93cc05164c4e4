// Guards against a file that is no file: a pipe that nobody writes to, which
// would be waited for without end, and a device, which has none.
#include "harness/base/json_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/base/error.h"
#include "harness/base/parse_text.h"
#include "harness/system/temporary_folder.h"
#include "tests/support/error_text.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& path) {
  return testing::ErrorText([&] { ReadJsonFile(path); });
}

TEST(ReadJsonFile, RefusesADevice) {
  for (const char* path : {"/dev/zero", "/dev/null", "/dev/full"}) {
    EXPECT_THAT(ErrorOf(path), HasSubstr("is neither a file nor a pipe"));
  }
}

TEST(ReadJsonFile, WaitsAWhileForAPipeThatNobodyWritesTo) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(ErrorOf(path), HasSubstr("a pipe that nobody writes to"));
}

TEST(ReadJsonFile, WaitsForTheWriterOfAPipe) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&path] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::ofstream(path) << R"({"a": [1]})";
  });
  EXPECT_EQ(ReadJsonFile(path), Json({{"a", {1}}}));
  writer.join();
}

TEST(ReadJsonFile, ReadsAPipeWhoseDataComeLater) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  // The test opens it in both directions, so that it has a writer from now on.
  std::fstream pipe(path);
  std::thread writer([&pipe] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    pipe << R"({"a": [1)" << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    pipe << "]}" << std::flush;
    pipe.close();
  });
  EXPECT_EQ(ReadJsonFile(path), Json({{"a", {1}}}));
  writer.join();
}

TEST(ReadJsonFile, RefusesALoopOfLinksAndALargeFile) {
  const TemporaryFolder folder;
  const std::string loop = folder.path() + "/loop";
  std::filesystem::create_symlink(loop, loop);
  EXPECT_THAT(ErrorOf(loop), HasSubstr("Too many levels of symbolic links"));
  const std::string large = folder.path() + "/large";
  std::ofstream(large).close();
  std::filesystem::resize_file(large, std::uintmax_t{513} << 20);
  EXPECT_THAT(ErrorOf(large), HasSubstr("is larger than 512 MiB"));
}

// What may stand before and behind a document.
TEST(ReadJsonFile, RefusesWhatFollowsADocument) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/d.json";
  const auto error_of = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    return ErrorOf(path);
  };
  EXPECT_THAT(error_of(std::string("{}\0 and text", 12)),
              HasSubstr("is not JSON: a byte 0 at offset 2 of 12"));
  EXPECT_THAT(error_of(std::string("\0{}", 3)), HasSubstr("offset 0 of 3"));
  EXPECT_THAT(error_of(std::string("{}\n\0", 4)), HasSubstr("offset 3 of 4"));
  for (const char* text : {"{} {}", "{}\n{}", "{},", "{\"a\": 1,}", "{}x"}) {
    EXPECT_THAT(error_of(text), HasSubstr("is not JSON: ")) << text;
  }
  EXPECT_EQ(error_of("\ufeff{}\r\n \t"), "");
}

TEST(ParseMessage, IsOneDocumentOfALine) {
  EXPECT_EQ(ParseMessage("{\"a\": 1}"), Json({{"a", 1}}));
  EXPECT_TRUE(ParseMessage(std::string("{}\0x", 4)).is_discarded());
  EXPECT_TRUE(ParseMessage("{} {}").is_discarded());
}

TEST(ReadJsonFile, RepeatsNoMoreOfAFileThanALineHolds) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/d.json";
  const std::string large(10'000, 'k');
  for (const std::string& text :
       {"{\"" + large + "\": 1, \"" + large + "\": 2}", "{\"" + large,
        std::string("[") + std::string(10'000, '9') + "]"}) {
    std::ofstream(path) << text;
    const std::string error = ErrorOf(path);
    EXPECT_THAT(error, HasSubstr(" characters)..."));
    EXPECT_LT(error.size(), 600U) << error;
  }
}

TEST(CheckUtf8, RefusesOtherBytes) {
  EXPECT_NO_THROW(CheckUtf8("\u00e4", "x"));
  EXPECT_THROW(CheckUtf8("a\xff", "x"), UserError);
}

}  // namespace
}  // namespace attnbench
