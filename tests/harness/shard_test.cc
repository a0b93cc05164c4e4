// Guards against shards that overlap or leave something out.
#include "harness/shard.h"

#include <gmock/gmock.h>

#include "harness/error.h"

namespace attnbench {
namespace {

TEST(Shard, DealsOutEverythingOnce) {
  for (const int count : {1, 2, 3, 7}) {
    for (std::size_t i = 0; i < 20; ++i) {
      int owners = 0;
      for (int index = 0; index < count; ++index) {
        const Shard shard{index, count};
        owners += shard.Has(i) ? 1 : 0;
      }
      EXPECT_EQ(owners, 1);
    }
  }
}

TEST(Shard, IsReadAsItIsWritten) {
  const Shard shard = ParseShard("2/11");
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
    try {
      ParseShard(text);
      ADD_FAILURE() << text;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), ::testing::StartsWith(message));
    }
  }
}

}  // namespace
}  // namespace attnbench
