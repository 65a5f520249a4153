// What the outside world does wrong: disks that fail, budgets that are too small, memory that the
// system does not give.
#include <cerrno>
#include <cstdio>

#include <gtest/gtest.h>

#include "tests/residency/table_bench.h"

namespace stepwell::residency {
namespace {

using io::Direction;

void expect_parts(const Status& status, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(status.message().find(part), std::string::npos) << part << " in " << status.message();
  }
}

class Failures : public testing::TestWithParam<bool> {
 protected:
  Bench bench_{3, 6, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Unified, Failures, testing::Bool());

TEST_P(Failures, ReadErrorNamesPageAndOperatorAndALaterTryWorks) {
  const PageId page = bench_.page("h.0.weight", 2);
  const PageId other = bench_.page("other", 2);
  ASSERT_TRUE(bench_.fill(page, 2, 5).ok());
  ASSERT_TRUE(bench_.fill(other, 2, 6).ok());
  bench_.table.settle();
  bench_.faults->fail(Direction::kRead, EIO, 1);
  const Status status = bench_.first_byte(page).status();
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_EQ(status.os_error(), EIO);
  expect_parts(status, {"h.0.weight", "operator 'test'", bench_.swap->path()});
  EXPECT_EQ(bench_.first_byte(page).value_or_throw(), 5);
  EXPECT_EQ(bench_.first_byte(other).value_or_throw(), 6);
}

TEST_P(Failures, CorruptPageIsNamedEachTimeAndMendedByOverwriting) {
  const PageId page = bench_.page("h.0.weight", 2);
  const PageId other = bench_.page("other", 2);
  ASSERT_TRUE(bench_.fill(page, 2, 5).ok());
  ASSERT_TRUE(bench_.fill(other, 2, 6).ok());
  bench_.table.settle();
  FILE* file = std::fopen(bench_.swap->path().c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  std::fseek(file, 100, SEEK_SET);
  std::fputc(7, file);
  std::fclose(file);
  for (int tries = 0; tries < 2; ++tries) {
    const Status status = bench_.first_byte(page).status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt);
    expect_parts(status, {"h.0.weight"});
  }
  EXPECT_TRUE(bench_.fill(page, 2, 8).ok());
  EXPECT_TRUE(bench_.fill(other, 2, 9).ok());
  EXPECT_EQ(bench_.first_byte(page).value_or_throw(), 8);
}

TEST_P(Failures, FullDiskWhileMakingRoomLosesNothing) {
  const PageId page = bench_.page("page", 2);
  const PageId other = bench_.page("other", 2);
  ASSERT_TRUE(bench_.fill(page, 2, 5).ok());
  bench_.faults->fail(Direction::kWrite, ENOSPC);
  for (int tries = 0; tries < 2; ++tries) {
    const Status status = bench_.fill(other, 2, 6);
    EXPECT_EQ(status.code(), StatusCode::kNoSpace) << status.to_string();
    expect_parts(status, {"'page' could not be written", "operator 'test'"});
    EXPECT_EQ(bench_.first_byte(page).value_or_throw(), 5);
  }
  bench_.faults->heal();
  EXPECT_TRUE(bench_.fill(other, 2, 6).ok());
  EXPECT_EQ(bench_.first_byte(page).value_or_throw(), 5);
  EXPECT_EQ(bench_.first_byte(other).value_or_throw(), 6);
}

TEST_P(Failures, AFailedOperatorDoesNotHarmThePagesItWouldHaveOverwritten) {
  const PageId precious = bench_.page("precious", 1);
  const PageId broken = bench_.page("broken", 2);
  const PageId other = bench_.page("other", 3);
  ASSERT_TRUE(bench_.fill(precious, 1, 5).ok());
  ASSERT_TRUE(bench_.fill(broken, 2, 6).ok());
  ASSERT_TRUE(bench_.fill(other, 3, 7).ok());
  bench_.table.settle();
  bench_.faults->fail(Direction::kRead, EIO, 1);
  const std::vector<PageUse> uses{{precious, Access::kOverwrite}, {broken, Access::kRead}};
  EXPECT_EQ(bench_.table.acquire(bench_.name, uses).code(), StatusCode::kIo);
  EXPECT_EQ(bench_.first_byte(precious).value_or_throw(), 5) << "it was never overwritten";
  EXPECT_EQ(bench_.first_byte(other).value_or_throw(), 7);
}

TEST_P(Failures, AnErrorOfAPrefetchIsNotBlamedOnAnOverwrite) {
  const PageId page = bench_.page("page", 1);
  const PageId broken = bench_.page("broken", 1);
  const PageId other = bench_.page("other", 3);
  for (const bool discarded : {false, true}) {
    ASSERT_TRUE(bench_.fill(page, 1, 5).ok());
    ASSERT_TRUE(bench_.fill(broken, 1, 6).ok());
    ASSERT_TRUE(bench_.fill(other, 3, 7).ok());
    bench_.table.settle();
    // Two reads fail; only the first one is reported, the error of the other stays with its page.
    bench_.faults->fail(Direction::kRead, EIO, 2);
    const std::vector<PageUse> both{{page, Access::kRead}, {broken, Access::kRead}};
    EXPECT_EQ(bench_.table.acquire(bench_.name, both).code(), StatusCode::kIo);
    bench_.table.settle();
    if (discarded) {
      bench_.table.discard(page);
      bench_.table.discard(broken);
    }
    ASSERT_TRUE(bench_.fill(other, 3, 7).ok());  // no room at first sight
    const Access access = discarded ? Access::kWrite : Access::kOverwrite;
    const std::vector<PageUse> again{{broken, access}, {page, access}};
    const Status status = bench_.table.acquire(bench_.name, again);
    ASSERT_TRUE(status.ok()) << status.to_string();
    bench_.table.release(again);
    bench_.table.discard(page);
    bench_.table.discard(broken);
  }
}

TEST_P(Failures, ShortTransfersAreContinued) {
  bench_.faults->shorten(true);
  const PageId page = bench_.page("page", 2);
  const PageId other = bench_.page("other", 2);
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(bench_.fill(page, 2, round).ok());
    ASSERT_TRUE(bench_.fill(other, 2, round + 10).ok());
    EXPECT_EQ(bench_.first_byte(page).value_or_throw(), round);
  }
}

TEST_P(Failures, TableEndsWithMovementsInFlight) {
  const PageId page = bench_.page("page", 2);
  const PageId other = bench_.page("other", 2);
  ASSERT_TRUE(bench_.fill(page, 2, 5).ok());
  // A write is on its way and a failed acquisition leaves a read behind; the end of the scope
  // waits.
  ASSERT_TRUE(bench_.fill(other, 2, 5).ok());
  bench_.faults->fail(Direction::kWrite, ENOSPC, 1);
  EXPECT_FALSE(bench_.first_byte(page).ok());
  bench_.faults->heal();
  const std::vector<PageUse> use{{page, Access::kRead}};
  ASSERT_TRUE(bench_.table.acquire(bench_.name, use).ok());
  bench_.table.release(use);
}

TEST(BudgetErrors, TheNumberNamedIsEnough) {
  for (const bool unified : {true, false}) {
    for (const std::uint64_t device_blocks : {5U, 8U}) {
      Bench bench(device_blocks, 12, unified);
      const std::vector<PageId> pages{bench.page("a", 3), bench.page("b", 3), bench.page("c", 2)};
      const std::vector<PageUse> uses{
          {pages[0], Access::kWrite}, {pages[1], Access::kWrite}, {pages[2], Access::kWrite}};
      const Status status = bench.table.acquire(bench.name, uses);
      EXPECT_EQ(status.ok(), device_blocks == 8) << status.to_string();
      if (status.ok()) {
        bench.table.release(uses);
      } else {
        expect_parts(status, {"stepwell.memory.device_bytes to at least 32768"});
      }
    }
  }
}

TEST(BudgetErrors, FullHostIsNamedWhenPagesOfTheDeviceHaveNoPlaceToGo) {
  Bench bench(3, 2, true);
  std::vector<PageId> pages;
  for (int index = 0; index < 3; ++index) {
    pages.push_back(bench.page("p" + std::to_string(index), 2, Tier::kHost));
  }
  ASSERT_TRUE(bench.fill(pages[0], 2, 1).ok());
  ASSERT_TRUE(bench.fill(pages[1], 2, 2).ok());
  const Status status = bench.fill(pages[2], 2, 3);
  EXPECT_EQ(status.code(), StatusCode::kBudgetExceeded);
  expect_parts(status, {"'p2'", "operator 'test'", "stepwell.memory.host_bytes"});
  EXPECT_EQ(bench.first_byte(pages[1]).value_or_throw(), 2) << "the table goes on";
  const Status swap = bench.first_byte(pages[0]).status();
  expect_parts(swap, {"'p1'", "has to leave the device for 'p0'", "host_bytes to at least 16384"});
  bench.table.discard(pages[1]);
  EXPECT_EQ(bench.first_byte(pages[0]).value_or_throw(), 1);
}

/// Memory of a device that has less than its budget says.
class SmallMemory final : public memory::Source {
 public:
  Result<std::byte*> map(std::uint64_t bytes) override {
    if (bytes > left_) {
      return Status::from_errno(ENOMEM, "memory of the device");
    }
    left_ -= bytes;
    return source_->map(bytes);
  }
  void unmap(std::byte* data, std::uint64_t bytes) noexcept override {
    left_ += bytes;
    source_->unmap(data, bytes);
  }

 private:
  std::uint64_t left_ = 3 * kBlock;
  std::unique_ptr<memory::Source> source_ = memory::make_host_source(false);
};

TEST(BudgetErrors, LessMemoryThanTheBudgetIsAnErrorNotAnEndlessTry) {
  SmallMemory source;
  Bench bench({.device_blocks = 8, .device_source = &source});
  const PageId page = bench.page("page", 2);
  const PageId other = bench.page("other", 2);
  ASSERT_TRUE(bench.fill(page, 2, 5).ok());
  const Status status = bench.fill(other, 2, 6);
  EXPECT_FALSE(status.ok());
  expect_parts(status, {"'other'", "memory of the device"});
  EXPECT_EQ(bench.first_byte(page).value_or_throw(), 5);
}

TEST(Creation, NoPlaceOnTheDiskNamesThePage) {
  Bench bench(3, 3, true);
  const Result<PageId> page = bench.table.create(
      {.name = "huge", .size_bytes = std::uint64_t{1} << 50, .home = Tier::kNvme});
  EXPECT_FALSE(page.ok());
  expect_parts(page.status(), {"'huge'", "free"});
  EXPECT_EQ(bench.table.page_count(), 0U);
}

}  // namespace
}  // namespace stepwell::residency
