#include "src/data/windows.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepwell::data {
namespace {

constexpr WindowOptions kOptions{.text_bytes = 1000, .window_bytes = 100, .count = 16};

TEST(Windows, OfABatchDependOnSeedAndBatchOnly) {
  const auto batch = random_windows(kOptions, 3, 17);
  EXPECT_EQ(batch.size(), kOptions.count);
  EXPECT_EQ(batch, random_windows(kOptions, 3, 17));
  EXPECT_NE(batch, random_windows(kOptions, 3, 18));
  EXPECT_NE(batch, random_windows(kOptions, 4, 17));
}

TEST(Windows, ReachEveryPlaceAndNoneBeyondTheEnd) {
  constexpr WindowOptions kSmall{.text_bytes = 12, .window_bytes = 8, .count = 64};
  std::set<std::uint64_t> places;
  for (const std::uint64_t start : random_windows(kSmall, 1, 0)) {
    places.insert(start);
  }
  EXPECT_THAT(places, testing::ElementsAre(0, 1, 2, 3, 4));
}

TEST(Windows, SpreadEvenlyFromStartToEnd) {
  EXPECT_THAT(even_windows({.text_bytes = 1000, .window_bytes = 100, .count = 4}),
              testing::ElementsAre(0, 300, 600, 900));
  EXPECT_THAT(even_windows({.text_bytes = 1000, .window_bytes = 100, .count = 1}),
              testing::ElementsAre(0));
  EXPECT_THAT(even_windows({.text_bytes = 100, .window_bytes = 100, .count = 3}),
              testing::ElementsAre(0, 0, 0));
}

TEST(WindowsDeathTest, MustFitIntoTheText) {
  EXPECT_DEATH(random_windows({.text_bytes = 5, .window_bytes = 6, .count = 1}, 0, 0),
               "does not fit");
}

}  // namespace
}  // namespace stepwell::data
