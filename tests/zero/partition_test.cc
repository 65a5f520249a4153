#include "src/zero/partition.h"

#include <random>

#include <gtest/gtest.h>

namespace stepwell::zero {
namespace {

TEST(Partition, EveryElementBelongsToOneRank) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 500; ++round) {
    const std::uint64_t world = 1 + random() % 9;
    const std::uint64_t elements = random() % (round % 2 == 0 ? 12 : 100'000);
    std::uint64_t next = 0;
    std::uint64_t longest = 0;
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      const ShardRange shard = shard_of(elements, rank, world);
      ASSERT_EQ(shard.first, next) << elements << " over " << world << ", rank " << rank;
      next += shard.count;
      longest = std::max(longest, shard.count);
    }
    ASSERT_EQ(next, elements) << "over " << world;
    ASSERT_EQ(longest, shard_of(elements, 0, world).count) << "no rank holds more than the first";
    ASSERT_LT(longest * world, elements + world) << "and it holds no more than its part";
  }
}

}  // namespace
}  // namespace stepwell::zero
