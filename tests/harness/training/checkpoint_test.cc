// Guards against going on from a file that is not what the run left: cut short,
// of another run, or with other numbers than were written.
#include "harness/training/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "harness/system/result_file.h"
#include "harness/system/temporary_folder.h"
#include "tests/support/error_text.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

Checkpoint MadeUpCheckpoint() {
  Checkpoint checkpoint;
  checkpoint.run = {.name = "a", .seed = 3, .held_out_seed = 1, .settings = {}};
  checkpoint.step = 40;
  checkpoint.loss_sum = 0.1 + 0.2;
  checkpoint.curve.push_back({});
  checkpoint.curve[0].step = 20;
  checkpoint.parameters["x"] = {.shape = {2, 1},
                                .values = {0.1F, std::nextafter(0.1F, 1.0F)},
                                .means = {-1e-30F, 0},
                                .squares = {3.4e38F, 1e-45F}};
  checkpoint.parameters["scalar"] = {{}, {0.5}, {0}, {0}};
  return checkpoint;
}

class CheckpointFile : public ::testing::Test {
 protected:
  std::string ErrorOfReading(const std::string& text) {
    std::ofstream(path_) << text;
    return testing::ErrorText([&] { ReadCheckpoint(path_); });
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/c.json";
};

TEST_F(CheckpointFile, IsReadWithTheSameBits) {
  const Checkpoint written = MadeUpCheckpoint();
  ResultFile(path_, false).Write(ToJson(written));
  const Checkpoint read = ReadCheckpoint(path_);
  EXPECT_EQ(ToJson(read), ToJson(written));
  for (const auto& [name, array] : written.parameters) {
    EXPECT_EQ(read.parameters.at(name).values, array.values);
    EXPECT_EQ(read.parameters.at(name).squares, array.squares);
  }
  EXPECT_EQ(read.loss_sum, written.loss_sum);
}

TEST_F(CheckpointFile, CutShortIsRefusedByNameWhereverItIsCut) {
  ResultFile(path_, false).Write(ToJson(MadeUpCheckpoint()));
  std::ostringstream text;
  text << std::ifstream(path_).rdbuf();
  const std::string whole = text.str();
  for (std::size_t size = 0; size + 2 < whole.size(); size += 7) {
    EXPECT_THAT(ErrorOfReading(whole.substr(0, size)), HasSubstr("c.json: "))
        << size;
  }
}

TEST_F(CheckpointFile, WithOtherMembersOrTooFewNumbersIsRefusedByPlace) {
  const struct {
    const char* pointer;
    Json value;
    const char* message;
  } cases[] = {
      {"/kind", "trained", "c.json: kind"},
      {"/schema_version", 2, "c.json: schema_version"},
      {"/more", 1, "c.json: unknown key 'more'"},
      {"/run/settings/steppes", 1, "c.json: run.settings: unknown key"},
      {"/parameters/x/shape", {3, 1}, "c.json: parameters.x: has 2 numbers"},
      {"/parameters/x/shape", {1LL << 40, 1LL << 40}, "c.json: parameters.x: "},
      {"/parameters/x/shape", {1, 1}, "c.json: parameters.x: has 2 numbers"},
      {"/parameters/x/shape", {0, 2}, "c.json: parameters.x.shape[0]"},
      {"/parameters/x/means", {1}, "c.json: parameters.x: has 1 numbers"},
      {"/parameters/x/values", {1, "2"}, "c.json: parameters.x.values[1]"},
      {"/parameters/x/values",
       {1, -4e38},
       "c.json: parameters.x: has the "
       "number -4e+38, which f32"},
  };
  for (const auto& [pointer, value, message] : cases) {
    Json json = ToJson(MadeUpCheckpoint());
    json[Json::json_pointer(pointer)] = value;
    EXPECT_THAT(ErrorOfReading(json.dump()), HasSubstr(message)) << pointer;
  }
}

TEST(CheckpointSchema, IsCommittedAndACheckpointKeepsToIt) {
  EXPECT_EQ(testing::SchemaFile("checkpoint"), SchemaTextOf<Checkpoint>())
      << "write it again: attnbench list --schema=checkpoint";
  EXPECT_TRUE(testing::Validates(testing::SchemaOf("checkpoint"),
                                 ToJson(MadeUpCheckpoint())));
}

}  // namespace
}  // namespace attnbench
