#include "src/residency/page_table.h"

#include <gtest/gtest.h>

#include "tests/residency/table_bench.h"

namespace stepwell::residency {
namespace {

TEST(PageTable, BudgetErrorNamesPagesNumbersAndKeyAndHoldsNothing) {
  Bench bench(5, 8, true);
  const PageId left = bench.page("left", 3, Tier::kNvme);
  const PageId right = bench.page("right", 3, Tier::kNvme);
  const std::vector<PageUse> both{{left, Access::kWrite}, {right, Access::kWrite}};
  const Status status = bench.table.acquire(bench.name, both);
  EXPECT_EQ(status.code(), StatusCode::kBudgetExceeded);
  for (const char* part :
       {"'left'", "'right'", "operator 'test'", "stepwell.memory.device_bytes to at least 24576"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << part << " in " << status.message();
  }
  for (const PageId page : {left, right, left}) {
    const std::vector<PageUse> one{{page, Access::kWrite}};
    ASSERT_TRUE(bench.table.acquire(bench.name, one).ok());
    bench.table.release(one);
  }
}

TEST(PageTable, LongHoldsCountAndAreNotMoved) {
  Bench bench(4, 8, true);
  const PageId held = bench.page("held", 3, Tier::kNvme);
  const PageId other = bench.page("other", 2, Tier::kNvme);
  const std::vector<PageUse> hold{{held, Access::kWrite}};
  const std::vector<PageUse> use{{other, Access::kWrite}};
  ASSERT_TRUE(bench.table.acquire(bench.name, hold, Hold::kLong).ok());
  EXPECT_EQ(bench.table.acquire(bench.name, use).code(), StatusCode::kBudgetExceeded);
  bench.table.release(hold, Hold::kLong);
  EXPECT_TRUE(bench.table.acquire(bench.name, use).ok());
  bench.table.release(use);
}

TEST(PageTable, ZeroFillAndDiscard) {
  Bench bench(4, 8, true);
  const PageId page =
      bench.table
          .create({.name = "z", .size_bytes = kBlock, .home = Tier::kNvme, .zero_fill = true})
          .value_or_throw();
  const std::vector<PageUse> use{{page, Access::kWrite}};
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(bench.table.acquire(bench.name, use).ok());
    EXPECT_EQ(bench.table.data(page)[5], std::byte{0});
    bench.table.data(page)[5] = std::byte{9};
    bench.table.release(use);
    bench.table.discard(page);
    EXPECT_EQ(bench.table.state(page), PageState::kEmpty);
  }
  EXPECT_EQ(bench.table.take_stats().moved.nvme_written_bytes, 0U);
}

TEST(PageTable, PlannedStepHasNoFaultsWhereTwoPagesFit) {
  Bench bench(8, 8, true, 8);
  std::vector<PageId> pages;
  for (int index = 0; index < 5; ++index) {
    pages.push_back(bench.page("p" + std::to_string(index), 2, Tier::kNvme));
  }
  PageTableStats stats;
  for (int step = 0; step < 5; ++step) {
    bench.table.begin_step(StepKind::kTraining);
    bench.table.take_stats();
    for (const PageId page : pages) {
      const std::vector<PageUse> use{{page, step == 0 ? Access::kOverwrite : Access::kRead}};
      ASSERT_TRUE(bench.table.acquire(bench.name, use).ok());
      bench.table.release(use);
      bench.table.settle();  // the operator is slower than the disk
    }
    stats = bench.table.take_stats();
    bench.table.end_step(StepKind::kTraining);
  }
  EXPECT_EQ(stats.faults, 0U);
  EXPECT_GT(stats.prefetches, 0U);
  EXPECT_EQ(stats.moved.nvme_written_bytes, 0U) << "clean pages are not written again";
}

}  // namespace
}  // namespace stepwell::residency
