// Steps that repeat: plans, fetches ahead, and what a stall is blamed on.
#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

#include "tests/residency/table_bench.h"

namespace stepwell::residency {
namespace {

/// One operator a page, in order; the disk is always faster than the operator.
void run_ring(Bench& bench, const std::vector<PageId>& pages, Access access) {
  bench.table.begin_step(StepKind::kTraining);
  for (const PageId page : pages) {
    const std::vector<PageUse> use{{page, access}};
    ASSERT_TRUE(bench.table.acquire(bench.name, use).ok());
    bench.table.settle();
    bench.table.release(use);
    bench.table.settle();
  }
  bench.table.end_step(StepKind::kTraining);
}

std::vector<PageId> make_pages(Bench& bench, int count, std::uint64_t blocks) {
  std::vector<PageId> pages;
  for (int index = 0; index < count; ++index) {
    pages.push_back(bench.page("p" + std::to_string(index), blocks));
    EXPECT_TRUE(bench.fill(pages.back(), blocks, index).ok());
  }
  return pages;
}

class Rings : public testing::TestWithParam<bool> {};

// The second step is planned but starts with what the first, unplanned one left.
TEST_P(Rings, HasNoFaultsFromTheThirdStepOn) {
  for (const Access access : {Access::kRead, Access::kWrite}) {
    Bench bench(6, 8, GetParam(), 4);
    const std::vector<PageId> pages = make_pages(bench, 5, 2);
    run_ring(bench, pages, access);
    bench.table.take_stats();
    run_ring(bench, pages, access);
    EXPECT_LE(bench.table.take_stats().faults, 2U);
    for (int step = 0; step < 3; ++step) {
      run_ring(bench, pages, access);
      const PageTableStats stats = bench.table.take_stats();
      EXPECT_EQ(stats.faults, 0U) << "step " << step;
      EXPECT_EQ(stats.uses, 5U);
      EXPECT_GE(stats.prefetches, 2U);
      EXPECT_EQ(stats.longest_stall_page, "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Unified, Rings, testing::Bool());

TEST(Prefetch, NothingIsFetchedAheadWithoutABudgetForIt) {
  Bench bench(6, 8, true, 0);
  const std::vector<PageId> pages = make_pages(bench, 5, 2);
  for (int step = 0; step < 3; ++step) {
    run_ring(bench, pages, Access::kRead);
  }
  EXPECT_EQ(bench.table.take_stats().prefetches, 0U);
}

TEST(Prefetch, ADropOfAHeldPageHappensAtItsRelease) {
  Bench bench(4, 8, true, 4);
  const std::vector<PageId> pages = make_pages(bench, 3, 2);
  const std::vector<PageUse> held{{pages[0], Access::kWrite}};
  for (int step = 0; step < 3; ++step) {
    bench.table.begin_step(StepKind::kTraining);
    ASSERT_TRUE(bench.table.acquire(bench.name, held, Hold::kLong).ok());
    EXPECT_TRUE(bench.first_byte(pages[1]).ok());
    bench.table.settle();
    EXPECT_EQ(bench.table.state(pages[0]), PageState::kResident) << "it is held";
    bench.table.release(held, Hold::kLong);
    bench.table.settle();
    if (step == 2) {
      EXPECT_EQ(bench.table.state(pages[0]), PageState::kAbsent);
      EXPECT_EQ(bench.table.state(pages[2]), PageState::kResident) << "fetched into its room";
    }
    EXPECT_EQ(bench.first_byte(pages[2]).value_or_throw(), 2);
    bench.table.end_step(StepKind::kTraining);
  }
}

TEST(Prefetch, AFailedFetchAheadIsReportedByTheOperatorThatNeedsIt) {
  Bench bench(4, 8, true, 4);
  const std::vector<PageId> pages = make_pages(bench, 4, 2);
  run_ring(bench, pages, Access::kRead);
  run_ring(bench, pages, Access::kRead);
  bench.table.settle();
  bench.faults->fail(io::Direction::kRead, EIO, 1);
  int failures = 0;
  bench.table.begin_step(StepKind::kTraining);
  for (const PageId page : pages) {
    const Result<int> value = bench.first_byte(page);
    bench.table.settle();
    if (!value.ok()) {
      ++failures;
      EXPECT_EQ(value.status().code(), StatusCode::kIo);
      EXPECT_TRUE(bench.first_byte(page).ok()) << "the next try works";
    }
  }
  bench.table.end_step(StepKind::kTraining);
  EXPECT_EQ(failures, 1);
}

TEST(Prefetch, WhatTheEndOfAStepPlannedArrivesInTheNext) {
  Bench bench(4, 8, true, 2);
  const std::vector<PageId> pages = make_pages(bench, 4, 2);
  for (int step = 0; step < 3; ++step) {
    run_ring(bench, pages, Access::kWrite);
  }
  bench.table.begin_step(StepKind::kTraining);
  for (const PageId page : std::span(pages).first(3)) {
    ASSERT_TRUE(bench.fill(page, 2, 9, Access::kWrite).ok());
    bench.table.settle();
  }
  bench.faults->hold();
  ASSERT_TRUE(bench.fill(pages[3], 2, 9, Access::kWrite).ok());
  bench.table.end_step(StepKind::kTraining);
  bench.table.begin_step(StepKind::kTraining);
  bench.faults->resume();
  bench.table.settle();
  EXPECT_EQ(bench.table.state(pages[0]), PageState::kResident);
  bench.table.end_step(StepKind::kTraining);
}

TEST(Stalls, TheLongestNamesPageAndOperator) {
  Bench bench(2, 8, true);
  const std::vector<PageId> pages = make_pages(bench, 2, 2);
  bench.table.settle();
  bench.table.take_stats();
  bench.faults->hold();
  std::thread resumer([&] {
    bench.faults->wait_for_held(1);
    bench.faults->resume();
  });
  const NameId name = bench.table.operator_id("aten::mm");
  const std::vector<PageUse> use{{pages[0], Access::kRead}};
  ASSERT_TRUE(bench.table.acquire(name, use).ok());
  bench.table.release(use);
  resumer.join();
  const PageTableStats stats = bench.table.take_stats();
  EXPECT_EQ(stats.faults, 1U);
  EXPECT_GT(stats.stall_ns, 0U);
  EXPECT_EQ(stats.longest_stall_ns, stats.stall_ns);
  EXPECT_EQ(stats.longest_stall_page, "p0");
  EXPECT_EQ(stats.longest_stall_operator, "aten::mm");
}

TEST(Stalls, WhatIsThereAtOnceIsNone) {
  Bench bench(4, 8, true);
  const PageId page = bench.page("page", 2, Tier::kHost);
  const PageId other = bench.page("other", 3, Tier::kHost);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(bench.fill(page, 2, 1).ok());
    bench.table.discard(other);
    const PageTableStats stats = bench.table.take_stats();
    EXPECT_EQ(stats.faults, 0U);
    EXPECT_EQ(stats.stall_ns, 0U);
    EXPECT_EQ(stats.longest_stall_operator, "");
  }
}

TEST(Steps, AnEvaluationInsideATrainingStepHasItsOwnPlan) {
  Bench bench(4, 8, true, 2);
  const std::vector<PageId> pages = make_pages(bench, 6, 2);
  const auto use = [&](int index) {
    ASSERT_EQ(bench.first_byte(pages[static_cast<std::size_t>(index)]).value_or_throw(), index);
    bench.table.settle();
  };
  PageTableStats stats;
  for (int step = 0; step < 4; ++step) {
    bench.table.begin_step(StepKind::kTraining);
    bench.table.take_stats();
    for (const int index : {0, 1, 2}) {
      use(index);
    }
    stats = bench.table.take_stats();
    bench.table.begin_step(StepKind::kEvaluation);
    for (const int index : {3, 4, 5}) {
      use(index);
    }
    bench.table.end_step(StepKind::kEvaluation);
    for (const int index : {2, 1, 0}) {
      use(index);
    }
    bench.table.end_step(StepKind::kTraining);
  }
  EXPECT_LE(stats.faults, 1U) << "the training step follows its plan in spite of the evaluation";
}

TEST(Steps, APlanMadeWhileAnOperatorWaitsDoesNotHarmIt) {
  Bench bench(4, 8, true, 4);
  const std::vector<PageId> pages = make_pages(bench, 4, 2);
  run_ring(bench, pages, Access::kRead);
  run_ring(bench, pages, Access::kRead);
  bench.table.begin_step(StepKind::kTraining);
  bench.table.settle();
  // Something that the recorded step did not do, so that the next begin makes another plan.
  ASSERT_TRUE(bench.first_byte(pages[2]).ok());
  ASSERT_TRUE(bench.fill(pages[3], 2, 3).ok());
  bench.table.settle();
  bench.faults->hold();
  std::thread waiting([&] { EXPECT_EQ(bench.first_byte(pages[0]).value_or_throw(), 0); });
  bench.faults->wait_for_held(1);
  bench.table.end_step(StepKind::kTraining);
  std::thread beginning([&] { bench.table.begin_step(StepKind::kTraining); });
  bench.faults->resume();
  waiting.join();
  beginning.join();
  bench.table.end_step(StepKind::kTraining);
}

}  // namespace
}  // namespace stepwell::residency
