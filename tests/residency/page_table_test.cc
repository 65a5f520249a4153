#include "src/residency/page_table.h"

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

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

TEST(PageTable, FlippedBitNamesThePage) {
  Bench bench(2, 8, true);
  const PageId page = bench.page("h.0.weight", 2, Tier::kNvme);
  const PageId other = bench.page("other", 2, Tier::kNvme);
  const std::vector<PageUse> write{{page, Access::kOverwrite}};
  const std::vector<PageUse> push_out{{other, Access::kOverwrite}};
  ASSERT_TRUE(bench.table.acquire(bench.name, write).ok());
  std::memset(bench.table.data(page), 0x5A, 2 * kBlock - 7);
  bench.table.release(write);
  ASSERT_TRUE(bench.table.acquire(bench.name, push_out).ok());
  bench.table.release(push_out);
  bench.table.settle();
  FILE* file = std::fopen(bench.swap->path().c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  std::fseek(file, 100, SEEK_SET);
  std::fputc(0x5B, file);
  std::fclose(file);
  const std::vector<PageUse> read{{page, Access::kRead}};
  const Status status = bench.table.acquire(bench.name, read);
  EXPECT_EQ(status.code(), StatusCode::kCorrupt) << status.to_string();
  EXPECT_NE(status.message().find("h.0.weight"), std::string::npos) << status.message();
  EXPECT_TRUE(bench.table.acquire(bench.name, push_out).ok()) << "the table goes on";
  bench.table.release(push_out);
}

TEST(PageTable, ThreadsShareASmallArena) {
  Bench bench(10, 8, true);
  std::vector<PageId> pages;
  for (int index = 0; index < 8; ++index) {
    pages.push_back(bench.page("p" + std::to_string(index), 3, Tier::kNvme));
    const std::vector<PageUse> use{{pages.back(), Access::kOverwrite}};
    ASSERT_TRUE(bench.table.acquire(bench.name, use).ok());
    std::memset(bench.table.data(pages.back()), index, 3 * kBlock - 7);
    bench.table.release(use);
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(thread);
      for (int round = 0; round < 150; ++round) {
        const std::size_t index = random() % 8;
        const std::vector<PageUse> use{
            {pages[index], random() % 2 == 0 ? Access::kRead : Access::kWrite}};
        if (!bench.table.acquire(bench.name, use).ok()) {
          ++wrong;
          continue;
        }
        wrong += bench.table.data(pages[index])[17] == static_cast<std::byte>(index) ? 0 : 1;
        bench.table.release(use);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace stepwell::residency
