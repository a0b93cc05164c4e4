// Guards against a model that is decoded on other utterances, or other
// symbols, than those that it was not trained on, and against a folder that
// has changed since.
#include "harness/training/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>

#include "harness/base/hash.h"
#include "harness/system/temporary_folder.h"
#include "tests/support/error_text.h"

namespace attnbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An .npy of numbers [rows, cols], f32.
std::string Npy(const std::vector<float>& numbers, Index cols) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(std::ssize(numbers) / cols) + ", " +
                       std::to_string(cols) + "), }\n";
  std::string bytes = "\x93NUMPY";
  bytes += {1, 0, static_cast<char>(header.size()), 0};
  bytes += header;
  for (const float number : numbers) {
    auto bits = std::bit_cast<std::uint32_t>(number);
    for (int n = 0; n < 4; ++n, bits >>= 8) {
      bytes += static_cast<char>(bits & 255);
    }
  }
  return bytes;
}

class FolderTest : public ::testing::Test {
 protected:
  FolderTest() {
    Write("vocabulary.txt", "ah\nbe\nce\n");
    std::filesystem::create_directory(Path("features"));
    Write("features/u1.npy", Npy({1, 2, 3, 4}, 2));
    Write("features/u2.npy", Npy({5, 6}, 2));
    Write("features/u3.npy", Npy({7, 8, 9, 10, 11, 12}, 2));
    Write("utterances.tsv",
          "id\tsplit\ttarget\nu1\ttrain\tah\nu2\theld_out\tce be\n"
          "u3\theld_out\tah\n");
    settings_.task = kOwnDataTask;
    settings_.data = folder_.path();
    settings_.data_facts = {.vocabulary = 5, .frame_size = 2};
    Accept({"vocabulary.txt", "utterances.tsv", "features/u1.npy",
            "features/u2.npy", "features/u3.npy"});
  }

  std::string Path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  void Write(const std::string& name, const std::string& bytes) {
    files_[name] = bytes;
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }
  // Takes the files, as they are, for those of the training.
  void Accept(const std::vector<std::string>& names) {
    Crc32 hash;
    for (const std::string& name : names) hash.Add(files_.at(name));
    settings_.data_facts->hash = hash.Hex();
  }
  std::string Refusal(Index count = 1) {
    return testing::ErrorText([&] { ReadFolder(settings_, count); });
  }

  const TemporaryFolder folder_;
  std::map<std::string, std::string> files_;
  TrainingSettings settings_;
};

TEST(Crc32, IsThatOfZlib) {
  Crc32 hash;
  hash.Add("1234");
  hash.Add("56789");
  EXPECT_EQ(hash.Hex(), "cbf43926");
}

TEST_F(FolderTest, HeldOutUtterancesComeInTheOrderOfTheTable) {
  const FolderData data = ReadFolder(settings_, 2);
  EXPECT_THAT(data.vocabulary, ElementsAre("<s>", "</s>", "ah", "be", "ce"));
  ASSERT_EQ(data.held_out.size(), 2U);
  EXPECT_THAT(data.held_out[0].target, ElementsAre(4, 3, kEndSymbol));
  EXPECT_THAT(data.held_out[0].frames, ElementsAre(5, 6));
  EXPECT_THAT(data.held_out[1].frames, ElementsAre(7, 8, 9, 10, 11, 12));
  EXPECT_EQ(data.held_out[1].source_length(), 3);
  EXPECT_EQ(ReadFolder(settings_, 1).held_out.size(), 1U);
}

TEST_F(FolderTest, SourcesAreTokensWhereThereIsAColumnOfThem) {
  Write("source_vocabulary.txt", "\xef\xbb\xbfx\r\ny\r\n");
  Write("about.json", "{}");
  Write("utterances.tsv",
        "source\tid\ttarget\tsplit\r\nx\ta\tah\ttrain\r\n"
        "y x y\tb\tbe\theld_out\r\n");
  settings_.data_facts = {.vocabulary = 5, .source_vocabulary = 4};
  Accept({"vocabulary.txt", "about.json", "utterances.tsv",
          "source_vocabulary.txt"});
  const FolderData data = ReadFolder(settings_, 1);
  EXPECT_THAT(data.held_out[0].tokens, ElementsAre(3, 2, 3, kEndSymbol));
  EXPECT_THAT(data.held_out[0].target, ElementsAre(3, kEndSymbol));
  EXPECT_TRUE(data.held_out[0].frames.empty());
}

TEST_F(FolderTest, AFolderThatHasChangedOrIsNotThereIsRefused) {
  EXPECT_EQ(Refusal(), "");
  // Of an utterance of the training.
  Write("features/u1.npy", Npy({1, 2, 3, 5}, 2));
  EXPECT_THAT(Refusal(), AllOf(HasSubstr(folder_.path() + ": has changed"),
                               HasSubstr(settings_.data_facts->hash)));
  std::filesystem::remove(Path("features/u1.npy"));
  EXPECT_THAT(Refusal(), HasSubstr("features/u1.npy: cannot be read"));
  settings_.data = Path("none");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("none: is not there"),
                               HasSubstr("the working folder, /")));
}

TEST_F(FolderTest, WhatDoesNotFitTheFactsIsRefusedByPlace) {
  EXPECT_THAT(Refusal(3), HasSubstr("has 2 held-out utterances, and 3"));
  settings_.data_facts->frame_size = 3;
  EXPECT_THAT(Refusal(), HasSubstr("u2.npy: expected frames of 3 numbers"));
  settings_.data_facts = {
      .hash = settings_.data_facts->hash, .vocabulary = 6, .frame_size = 2};
  EXPECT_THAT(Refusal(), HasSubstr("has a vocabulary of 5; data_facts."
                                   "vocabulary of the model is 6"));
  const auto refused = [&](const std::string& table) {
    Write("utterances.tsv", table);
    Accept({"vocabulary.txt", "utterances.tsv", "features/u2.npy"});
    settings_.data_facts->vocabulary = 5;
    return Refusal();
  };
  EXPECT_THAT(refused("id\tsplit\ttarget\nu2\theld_out\tah de\n"),
              HasSubstr("utterances.tsv:2: 'de' is not in the vocabulary"));
  EXPECT_THAT(refused("id\tsplit\ttarget\nu2\theld_out\n"),
              HasSubstr("utterances.tsv:2: has 2 columns; expected 3"));
  EXPECT_THAT(refused("id\ttarget\nu2\tah\n"),
              HasSubstr("utterances.tsv:1: has no column split"));
}

TEST_F(FolderTest, SettingsOfOwnDataHaveAFolderAndItsFactsAndNoOthersDo) {
  const auto refusal = [](const TrainingSettings& settings) {
    return testing::ErrorText([&] { CheckSettings(settings, Place("s")); });
  };
  EXPECT_EQ(refusal(settings_), "");
  TrainingSettings other = settings_;
  other.data_facts->source_vocabulary = 4;
  EXPECT_THAT(refusal(other), HasSubstr("s: data_facts: expected one of"));
  other.data_facts.reset();
  EXPECT_THAT(refusal(other), HasSubstr("s: data_facts: is missing"));
  other.data.reset();
  EXPECT_THAT(refusal(other), HasSubstr("s: data: is missing"));
  other.task = "copy";
  EXPECT_EQ(refusal(other), "");
  other.data = "words";
  EXPECT_THAT(refusal(other), HasSubstr("s: data: is for task folder"));
}

}  // namespace
}  // namespace attnbench
