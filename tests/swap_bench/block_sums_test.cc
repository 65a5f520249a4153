#include "tools/swap_bench/block_sums.h"

#include <vector>

#include <gtest/gtest.h>

#include "tools/swap_bench/random_bytes.h"

namespace stepwell::swap_bench {
namespace {

TEST(BlockSums, FindTheBlockThatChanged) {
  BlockSums sums(8);
  std::vector<std::byte> bytes(3 * BlockSums::kBlockBytes);
  fill_random(bytes, 1);
  sums.remember(2, bytes);
  EXPECT_FALSE(sums.check(2, bytes));
  EXPECT_EQ(sums.known_bytes(0, 8), bytes.size());
  bytes[BlockSums::kBlockBytes + 7] ^= std::byte{1};
  const auto wrong = sums.check(2, bytes);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->block, 3U);
  EXPECT_NE(wrong->expected, wrong->found);
  // What was never written may be anything.
  EXPECT_FALSE(sums.check(5, bytes));
}

TEST(BlockSums, KeepPiecesApart) {
  BlockSums sums(8);
  EXPECT_TRUE(sums.take(2, 3));
  EXPECT_FALSE(sums.take(4, 1));
  EXPECT_FALSE(sums.take(0, 3));
  EXPECT_TRUE(sums.take(5, 3));
  sums.give_back(2, 3);
  EXPECT_TRUE(sums.take(0, 5));
}

TEST(RandomBytes, StampsDifferFromEachOther) {
  std::vector<std::byte> bytes(2 * BlockSums::kBlockBytes);
  fill_random(bytes, 1);
  BlockSums sums(2);
  sums.remember(0, bytes);
  stamp(bytes, 2);
  std::vector<std::byte> tail(bytes.begin() + BlockSums::kBlockBytes, bytes.end());
  EXPECT_TRUE(sums.check(0, bytes));
  EXPECT_TRUE(sums.check(1, tail)) << "every block changes";
}

}  // namespace
}  // namespace stepwell::swap_bench
