#include "src/schedule/next_use.h"

#include <gtest/gtest.h>

#include "tests/schedule/random_schedule.h"

namespace stepwell::schedule {
namespace {

std::uint64_t distance_by_search(const Schedule& schedule, PageId page, std::uint64_t from) {
  const std::uint64_t length = schedule.positions.size();
  for (std::uint64_t distance = 0; distance < length; ++distance) {
    for (const PageUse& use : schedule.uses_of((from + distance) % length)) {
      if (use.page == page) {
        return distance;
      }
    }
  }
  return kNever;
}

TEST(NextUseIndex, AgreesWithASearch) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const Schedule schedule = test::random_schedule(random, 9, 1 + random() % 40, true);
    const NextUseIndex index(schedule);
    for (std::uint32_t page = 0; page < 9; ++page) {
      for (std::uint64_t from = 0; from < schedule.positions.size(); ++from) {
        ASSERT_EQ(index.distance(PageId{page}, from),
                  distance_by_search(schedule, PageId{page}, from))
            << "seed " << seed << " page " << page << " from " << from;
      }
    }
  }
}

TEST(NextUseIndex, AtOrAfterDoesNotWrap) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const Schedule schedule = test::random_schedule(random, 5, 1 + random() % 20, true);
    const NextUseIndex index(schedule);
    for (std::uint32_t page = 0; page < 5; ++page) {
      for (std::uint64_t from = 0; from <= schedule.positions.size(); ++from) {
        const std::uint64_t distance = from == schedule.positions.size()
                                           ? kNever
                                           : distance_by_search(schedule, PageId{page}, from);
        const bool before_end = distance < schedule.positions.size() - from;
        ASSERT_EQ(index.at_or_after(PageId{page}, from), before_end ? from + distance : kNever)
            << "seed " << seed << " page " << page << " from " << from;
      }
    }
  }
}

TEST(NextUseIndex, EmptyScheduleUsesNothing) {
  const NextUseIndex index;
  EXPECT_EQ(index.distance(PageId{0}, 5), kNever);
  EXPECT_EQ(index.at_or_after(PageId{0}, 0), kNever);
}

}  // namespace
}  // namespace stepwell::schedule
