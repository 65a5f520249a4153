#include "src/zero/tile_plan.h"

#include <random>

#include <gtest/gtest.h>

#include "src/optim/kernels.h"
#include "stepwell/bytes.h"

namespace stepwell::zero {
namespace {

using optim::kNormBlockElements;

/// Checks one tile by itself and moves `next` (first element not yet seen, by parameter) on.
void check_tile(const Tile& tile, std::uint64_t capacity, std::vector<std::uint64_t>& next) {
  ASSERT_FALSE(tile.segments.empty());
  ASSERT_LE(tile.elements, capacity);
  ASSERT_TRUE(is_aligned(tile.elements, kTileAlignment));
  std::uint64_t end = 0;
  for (const Segment& segment : tile.segments) {
    ASSERT_GT(segment.elements, 0U);
    ASSERT_EQ(segment.first_element, next[segment.parameter]) << "in order, once each";
    ASSERT_TRUE(is_aligned(segment.first_element, kNormBlockElements));
    ASSERT_TRUE(is_aligned(segment.tile_offset, kTileAlignment));
    ASSERT_GE(segment.tile_offset, end) << "no overlap";
    end = segment.tile_offset + segment.elements;
    next[segment.parameter] += segment.elements;
  }
  ASSERT_LE(end, tile.elements);
}

TEST(TilePlan, CoversEveryElementOnceInAlignedTiles) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> elements(random() % 12);
    for (std::uint64_t& count : elements) {
      count = random() % (random() % 3 == 0 ? 200'000 : 40);
    }
    const std::uint64_t wanted = random() % 120'000;
    const std::uint64_t capacity =
        std::max(align_down(wanted, kNormBlockElements), kNormBlockElements);
    std::vector<std::uint64_t> next(elements.size(), 0);
    for (const Tile& tile : make_tiles(elements, wanted)) {
      check_tile(tile, capacity, next);
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    }
    ASSERT_EQ(next, elements) << "seed " << seed;
  }
}

TEST(TilePlan, CutsOnlyWhatIsLargerThanATile) {
  const std::vector<std::uint64_t> elements{10, 40'000, 30'000, 20, 100'000};
  const std::vector<Tile> tiles = make_tiles(elements, 3 * kNormBlockElements);
  std::vector<int> pieces(elements.size(), 0);
  for (const Tile& tile : tiles) {
    for (const Segment& segment : tile.segments) {
      ++pieces[segment.parameter];
    }
  }
  EXPECT_EQ(pieces, (std::vector<int>{1, 1, 1, 1, 3}));
}

TEST(TilePlan, NothingNeedsNoTiles) {
  EXPECT_TRUE(make_tiles({}, 100).empty());
  const std::vector<std::uint64_t> none{0, 0};
  EXPECT_TRUE(make_tiles(none, 100).empty());
}

}  // namespace
}  // namespace stepwell::zero
