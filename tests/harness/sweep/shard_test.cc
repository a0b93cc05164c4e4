// Guards against shards that overlap or leave something out.
#include "harness/sweep/shard.h"

#include <gmock/gmock.h>

#include "tests/support/error_text.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;

TEST(Shard, DealsOutEverythingOnce) {
  for (const int count : {1, 2, 3, 7}) {
    for (std::size_t i = 0; i < 20; ++i) {
      std::vector<int> owners(i);
      for (int index = 0; index < count; ++index) {
        const Shard shard{index, count};
        for (const std::size_t own : shard.Indices(i)) ++owners.at(own);
      }
      EXPECT_EQ(owners, std::vector<int>(i, 1));
    }
  }
}

TEST(Shard, TakesEveryNthInOrder) {
  const std::vector<std::string> all = {"a", "b", "c", "d", "e"};
  EXPECT_THAT((Shard{1, 2}.Of(all)), ElementsAre("b", "d"));
  EXPECT_THAT((Shard{4, 5}.Of(all)), ElementsAre("e"));
  EXPECT_THAT((Shard{5, 6}.Of(all)), ElementsAre());
  EXPECT_EQ(Shard{}.Of(all), all);
}

TEST(Shard, IsReadAsItIsWritten) {
  const Shard shard = ParseShard("2/11", "--shard");
  EXPECT_EQ(shard.index, 2);
  EXPECT_EQ(shard.count, 11);
  EXPECT_EQ(shard.Text(), "2/11");
}

TEST(Shard, RefusesWhatIsNone) {
  const struct {
    const char* text;
    const char* message;
  } wrong[] = {{"4/4", "--shard: '4/4': i is 0 to 3"},
               {"-1/4", "--shard: '-1/4': i is 0 to 3"},
               {"x/4", "--shard: 'x/4': i is 0 to 3"},
               {"/4", "--shard: '/4': i is 0 to 3"},
               {"0/0", "--shard: 0/0: "},
               {"1/", "--shard: 1/: "},
               {"0/1/2", "--shard: 0/1/2: "},
               {"3", "--shard: '3' is not i/n"}};
  for (const auto& [text, message] : wrong) {
    EXPECT_THAT(testing::ErrorText([&t = text] { ParseShard(t, "--shard"); }),
                ::testing::StartsWith(message));
  }
}

}  // namespace
}  // namespace attnbench
