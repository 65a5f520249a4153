#include "tools/swap_bench/pattern.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace stepwell::swap_bench {
namespace {

using io::Direction;

TEST(Pattern, ReadsInOrderAndFromTheStartAgain) {
  const auto pattern = make_pattern({.volume_bytes = 10000, .block_bytes = 4096});
  for (const std::uint64_t offset : {0U, 4096U, 0U}) {
    const auto step = pattern->next(0);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->offset, offset);
    EXPECT_EQ(step->direction, Direction::kRead);
  }
}

TEST(Pattern, EndsAfterOnePassWhenAsked) {
  const auto pattern = make_pattern(
      {.workload = Workload::kWrite, .volume_bytes = 8192, .block_bytes = 4096, .once = true});
  EXPECT_TRUE(pattern->next(0));
  EXPECT_TRUE(pattern->next(0));
  EXPECT_FALSE(pattern->next(0));
}

TEST(Pattern, MixedIsHalfAndHalfAndRepeats) {
  const auto directions = [] {
    const auto pattern = make_pattern(
        {.workload = Workload::kMixed, .volume_bytes = 8192, .block_bytes = 4096, .seed = 3});
    std::vector<Direction> all;
    for (int index = 0; index < 1000; ++index) {
      all.push_back(pattern->next(0)->direction);
    }
    return all;
  };
  const std::vector<Direction> all = directions();
  EXPECT_EQ(all, directions());
  EXPECT_NEAR(static_cast<double>(std::count(all.begin(), all.end(), Direction::kRead)), 500, 60);
}

TEST(Pattern, ALayerIsWrittenBackByTheBufferThatReadIt) {
  const auto pattern = make_pattern({.workload = Workload::kLayerWalk,
                                     .volume_bytes = 2 * 4096,
                                     .block_bytes = 4096,
                                     .layer_bytes = 4096,
                                     .slots = 2});
  struct Expected {
    std::uint64_t slot;
    Direction direction;
    std::uint64_t offset;
  };
  for (const Expected& expected : {Expected{0, Direction::kRead, 0},
                                   {1, Direction::kRead, 4096},
                                   {0, Direction::kRead, 4096},  // backward
                                   {1, Direction::kRead, 0},
                                   {1, Direction::kWrite, 0},
                                   {0, Direction::kWrite, 4096},
                                   {0, Direction::kRead, 0}}) {  // forward again
    const auto step = pattern->next(expected.slot);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->direction, expected.direction);
    EXPECT_EQ(step->offset, expected.offset);
  }
}

}  // namespace
}  // namespace stepwell::swap_bench
