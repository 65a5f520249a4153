#include "io/scheduler.h"

#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "io/file.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::io {
namespace {

class SchedulerTest : public testing::Test {
 protected:
  Op& op(Priority priority, std::uint64_t offset = 0, std::uint64_t bytes = 1) {
    Op& made = ops_.emplace_back();
    made.priority = priority;
    made.file = &file_;
    made.offset = offset;
    made.size_bytes = bytes;
    made.data = memory_.data() + offset;
    return made;
  }
  Op& op(std::uint64_t offset, std::uint64_t bytes) { return op(Priority::kDemand, offset, bytes); }

  test::TemporaryFolder folder_;
  File file_ = File::open(folder_.file("data"), {.create = true, .direct = false}).value_or_throw();
  File other_ =
      File::open(folder_.file("other"), {.create = true, .direct = false}).value_or_throw();
  std::vector<std::byte> memory_ = std::vector<std::byte>(100000);
  std::deque<Op> ops_;
};

TEST_F(SchedulerTest, DemandBeforePrefetchBeforeWriteBack) {
  Scheduler scheduler({.queue_depth = 4});
  Op& write_back = op(Priority::kWriteBack);
  Op& prefetch = op(Priority::kPrefetch);
  Op& demand = op(Priority::kDemand);
  for (Op* one : {&write_back, &prefetch, &demand}) {
    scheduler.push(*one);
  }
  EXPECT_EQ(scheduler.pop(), &demand);
  EXPECT_EQ(scheduler.pop(), &prefetch);
  EXPECT_EQ(scheduler.pop(), &write_back);
  EXPECT_EQ(scheduler.pop(), nullptr);
}

TEST_F(SchedulerTest, NobodyStarves) {
  Scheduler scheduler({.queue_depth = 4});
  Op& write_back = op(Priority::kWriteBack);
  scheduler.push(write_back);
  int turns = 0;
  for (Op* one = nullptr; one != &write_back; ++turns) {
    ASSERT_LT(turns, 20);
    scheduler.push(op(Priority::kDemand));
    one = scheduler.pop();
    scheduler.finished(*one);
  }
}

TEST_F(SchedulerTest, PlacesAreKeptForDemand) {
  Scheduler scheduler({.queue_depth = 16});
  for (int index = 0; index < 32; ++index) {
    scheduler.push(op(Priority::kWriteBack));
  }
  int started = 0;
  while (scheduler.pop() != nullptr) {
    ++started;
  }
  EXPECT_EQ(started, 14);
  Op& demand = op(Priority::kDemand);
  scheduler.push(demand);
  EXPECT_EQ(scheduler.pop(), &demand);
}

TEST_F(SchedulerTest, BytesInFlightAreBoundedButALargeRequestStillGoes) {
  Scheduler scheduler({.queue_depth = 16, .in_flight_bytes_max = 100});
  Op& large = op(0, 1000);
  Op& small = op(5000, 60);
  Op& next = op(9000, 60);
  for (Op* one : {&large, &small, &next}) {
    scheduler.push(*one);
  }
  EXPECT_EQ(scheduler.pop(), &large);
  EXPECT_EQ(scheduler.pop(), nullptr);
  scheduler.finished(large);
  EXPECT_EQ(scheduler.pop(), &small);
  EXPECT_EQ(scheduler.pop(), nullptr);
  scheduler.finished(small);
  EXPECT_EQ(scheduler.pop(), &next);
}

TEST_F(SchedulerTest, NeighboursBecomeOneCall) {
  Scheduler scheduler({.queue_depth = 4, .merged_bytes_max = 100});
  Op& first = op(0, 10);
  Op& second = op(10, 20);
  Op& third = op(30, 5);
  third.data = memory_.data() + 50000;  // not next to it in memory
  Op& gap = op(40, 5);
  for (Op* one : {&first, &second, &third, &gap}) {
    scheduler.push(*one);
  }
  Op* const popped = scheduler.pop();
  MergedOp* const merged = Scheduler::as_merged(*popped);
  ASSERT_NE(merged, nullptr);
  EXPECT_EQ(merged->offset, 0U);
  EXPECT_EQ(merged->size_bytes, 35U);
  ASSERT_EQ(merged->part_count, 2U);
  EXPECT_EQ(merged->parts[0].size_bytes, 30U);
  EXPECT_EQ(merged->parts[1].data, third.data);
  EXPECT_EQ(merged->members.size(), 3U);
  EXPECT_EQ(scheduler.pop(), &gap);
  scheduler.finished(*popped);
  while (!merged->members.empty()) {
    merged->members.pop_front();
  }
  scheduler.recycle(*merged);
}

TEST_F(SchedulerTest, WhatDiffersIsNotMerged) {
  Scheduler scheduler({.queue_depth = 9, .merged_bytes_max = 100});
  Op& first = op(0, 10);
  Op& other_file = op(10, 10);
  other_file.file = &other_;
  Op& back = op(20, 10);
  Op& writes = op(30, 10);
  writes.direction = Direction::kWrite;
  Op& alone = op(40, 10);
  alone.alone = true;
  Op& too_large = op(50, 95);
  for (Op* one : {&first, &other_file, &back, &writes, &alone, &too_large}) {
    scheduler.push(*one);
  }
  for (Op* one : {&first, &other_file, &back, &writes, &alone, &too_large}) {
    EXPECT_EQ(scheduler.pop(), one);
  }
}

TEST_F(SchedulerTest, PriorityOfWhatWaitsChanges) {
  Scheduler scheduler({.queue_depth = 4});
  Op& late = op(Priority::kPrefetch);
  Op& early = op(Priority::kPrefetch);
  scheduler.push(early);
  scheduler.push(late);
  scheduler.change_priority(late, Priority::kDemand);
  EXPECT_EQ(scheduler.pop(), &late);
  scheduler.remove(early);
  EXPECT_TRUE(scheduler.empty());
}

}  // namespace
}  // namespace stepwell::io
