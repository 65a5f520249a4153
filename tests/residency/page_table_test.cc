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

/// Remembers what it was told.
struct RecordingClient final : PageClient {
  void on_attach(std::byte* data) noexcept override {
    ++attached;
    address = data;
  }
  void on_detach() noexcept override { ++detached; }

  int attached = 0;
  int detached = 0;
  std::byte* address = nullptr;
};

TEST(PageTable, ClientHearsOfTheFirstAndTheLastPin) {
  RecordingClient client;
  Bench bench(4, 8, true);
  const PageId page =
      bench.table.create({.name = "page", .size_bytes = 5, .home = Tier::kNvme}, &client)
          .value_or_throw();
  const std::vector<PageUse> use{{page, Access::kWrite}};
  for (int round = 1; round <= 2; ++round) {
    ASSERT_TRUE(bench.table.acquire(bench.name, use).ok());
    EXPECT_EQ(client.address, bench.table.data(page));
    ASSERT_TRUE(bench.table.acquire(bench.name, use, Hold::kLong).ok());
    bench.table.release(use);
    EXPECT_EQ(client.detached, round - 1) << "still held";
    bench.table.release(use, Hold::kLong);
    EXPECT_EQ(client.attached, round);
    EXPECT_EQ(client.detached, round);
  }
}

TEST(PageTable, FailedAcquisitionTellsTheClientNothing) {
  RecordingClient client;
  Bench bench(2, 8, true);
  const PageId page =
      bench.table.create({.name = "page", .size_bytes = 5, .home = Tier::kNvme}, &client)
          .value_or_throw();
  const PageId other = bench.page("other", 2);
  const std::vector<PageUse> both{{page, Access::kWrite}, {other, Access::kWrite}};
  EXPECT_FALSE(bench.table.acquire(bench.name, both).ok());
  EXPECT_EQ(client.attached + client.detached, 0);
}

TEST(PageTable, CountsAcquisitionsThatCouldChangeThePage) {
  Bench bench(4, 8, true);
  const PageId page = bench.page("page", 1);
  EXPECT_EQ(bench.table.write_count(page), 0U);
  ASSERT_TRUE(bench.fill(page, 1, 3).ok());
  ASSERT_TRUE(bench.first_byte(page).ok());
  EXPECT_EQ(bench.table.write_count(page), 1U);
  const std::vector<PageUse> use{{page, Access::kRead}};
  ASSERT_TRUE(bench.table.acquire(bench.name, use).ok());
  bench.table.mark_written(page);
  bench.table.release(use);
  EXPECT_EQ(bench.table.write_count(page), 2U);
}

TEST(PageTable, WhatIsMarkedWrittenIsWrittenBack) {
  Bench bench(2, 8, true);
  const PageId page = bench.page("page", 2);
  const PageId other = bench.page("other", 2);
  ASSERT_TRUE(bench.fill(page, 2, 3).ok());
  ASSERT_TRUE(bench.fill(other, 2, 4).ok());
  const std::vector<PageUse> use{{page, Access::kRead}};
  ASSERT_TRUE(bench.table.acquire(bench.name, use).ok());
  bench.table.data(page)[0] = std::byte{9};
  bench.table.mark_written(page);
  bench.table.release(use);
  ASSERT_TRUE(bench.first_byte(other).ok());
  EXPECT_EQ(bench.first_byte(page).value_or_throw(), 9);
}

TEST(PageTable, CleanPagesAreNotWrittenTwice) {
  Bench bench(2, 8, true);
  const PageId page = bench.page("page", 2);
  const PageId other = bench.page("other", 2);
  for (const PageId id : {page, other, page}) {
    ASSERT_TRUE(bench.fill(id, 2, 3).ok());
  }
  bench.table.take_stats();
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(bench.first_byte(other).ok());
    ASSERT_TRUE(bench.first_byte(page).ok());
  }
  EXPECT_EQ(bench.table.take_stats().moved.nvme_written_bytes, 2 * kBlock - 7) << "the first time";
}

TEST(PageTable, PagesWhoseHomeIsTheirPoolStay) {
  Bench bench(3, 8, true);
  const PageId fixed = bench.page("fixed", 2, Tier::kDevice);
  ASSERT_TRUE(bench.fill(fixed, 2, 5).ok());
  const PageId page = bench.page("page", 2);
  const Status status = bench.fill(page, 2, 1);
  EXPECT_EQ(status.code(), StatusCode::kBudgetExceeded);
  EXPECT_NE(status.message().find("always resident 8 KiB"), std::string::npos) << status.message();
  EXPECT_EQ(bench.first_byte(fixed).value_or_throw(), 5);
  bench.table.destroy(fixed);
  EXPECT_TRUE(bench.fill(page, 2, 1).ok());
}

TEST(PageTable, PagesToBeKeptGoLast) {
  Bench bench(4, 8, true);
  const PageId kept =
      bench.table
          .create(
              {.name = "kept", .size_bytes = kBlock, .home = Tier::kNvme, .keep_resident = true})
          .value_or_throw();
  const PageId page = bench.page("page", 2);
  const PageId large = bench.page("large", 3);
  ASSERT_TRUE(bench.fill(kept, 1, 1).ok());
  ASSERT_TRUE(bench.fill(page, 2, 2).ok());
  ASSERT_TRUE(bench.fill(large, 3, 3).ok());
  EXPECT_EQ(bench.table.state(kept), PageState::kResident) << "although it was used least recently";
  const PageId larger = bench.page("larger", 4);
  ASSERT_TRUE(bench.fill(larger, 4, 4).ok());
  EXPECT_EQ(bench.table.state(kept), PageState::kAbsent) << "nothing else could go";
}

TEST(PageTableDeathTest, WrongUseIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Bench bench(4, 8, true);
  const PageId page = bench.page("p", 1);
  const std::vector<PageUse> use{{page, Access::kWrite}};
  EXPECT_DEATH(bench.table.release(use), "page 'p' was not acquired");
  EXPECT_DEATH(bench.table.data(page), "page 'p' is not pinned");
  ASSERT_TRUE(bench.table.acquire(bench.name, use).ok());
  EXPECT_DEATH(bench.table.destroy(page), "page 'p' is destroyed while in use");
  EXPECT_DEATH(bench.table.discard(page), "page 'p' is discarded while in use");
  bench.table.release(use);
  bench.table.destroy(page);
  EXPECT_DEATH((void)bench.table.acquire(bench.name, use), "page 'p' was destroyed");
}

}  // namespace
}  // namespace stepwell::residency
