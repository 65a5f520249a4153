// Several threads at one table: nobody waits for ever, nobody sees another page's bytes.
#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "tests/residency/table_bench.h"

namespace stepwell::residency {
namespace {

class Threads : public testing::TestWithParam<std::tuple<bool, Tier>> {};

constexpr int kThreads = 4;
constexpr std::uint64_t kPages = 9;
constexpr std::uint64_t blocks_of(std::size_t index) {
  return 1 + index % 3;
}

/// Shared pages hold their own number in every byte and are only read; what a thread writes is its
/// own.
class Worker {
 public:
  Worker(Bench& bench, const std::vector<PageId>& pages, unsigned number)
      : bench_(bench), pages_(pages), number_(number), random_(number) {}

  int run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      if (random_() % 8 == 0) {
        own_page();
      } else {
        shared_pages();
      }
    }
    return wrong_;
  }

 private:
  void shared_pages() {
    const std::size_t first = random_() % kPages;
    const std::size_t second = random_() % kPages;
    std::vector<PageUse> uses{{pages_[first], Access::kRead}};
    if (second != first && random_() % 2 == 0) {
      uses.push_back({pages_[second], Access::kRead});
    }
    if (!bench_.table.acquire(bench_.name, uses).ok()) {
      ++wrong_;
      return;
    }
    check(first);
    if (uses.size() > 1) {
      check(second);
    }
    bench_.table.release(uses);
  }

  /// A page of this thread: created, written, pushed out by the others, read, consumed, destroyed.
  void own_page() {
    const PageId mine = bench_.page("of thread " + std::to_string(number_), 2);
    wrong_ += bench_.fill(mine, 2, static_cast<int>(number_)).ok() ? 0 : 1;
    shared_pages();
    const Result<int> value = bench_.first_byte(mine);
    wrong_ += value.ok() && value.value() == static_cast<int>(number_) ? 0 : 1;
    if (random_() % 2 == 0) {
      bench_.table.discard(mine);
    } else {
      bench_.table.rename(mine, "renamed");
    }
    bench_.table.destroy(mine);
  }

  void check(std::size_t index) {
    const std::byte* data = bench_.table.data(pages_[index]);
    const std::uint64_t last = blocks_of(index) * kBlock - 8;
    const auto expected = static_cast<std::byte>(index);
    wrong_ += data[0] == expected && data[last] == expected ? 0 : 1;
  }

  Bench& bench_;
  const std::vector<PageId>& pages_;
  unsigned number_;
  std::mt19937 random_;
  int wrong_ = 0;
};

TEST_P(Threads, ShareASmallArenaWithoutHarm) {
  const auto [unified, home] = GetParam();
  // The largest operator of one thread takes 6 blocks; threads have to wait for each other.
  Bench bench(7, 30, unified, 4);
  std::vector<PageId> pages;
  for (std::size_t index = 0; index < kPages; ++index) {
    pages.push_back(bench.page("p" + std::to_string(index), blocks_of(index), home));
    ASSERT_TRUE(bench.fill(pages.back(), blocks_of(index), static_cast<int>(index)).ok());
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] { wrong += Worker(bench, pages, number).run(80); });
  }
  for (int step = 0; step < 20; ++step) {
    const StepKind kind = step % 3 == 2 ? StepKind::kEvaluation : StepKind::kTraining;
    bench.table.begin_step(kind);
    wrong += bench.first_byte(pages[0]).ok() ? 0 : 1;
    bench.table.take_stats();
    bench.table.end_step(kind);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(bench.table.page_count(), kPages);
}

INSTANTIATE_TEST_SUITE_P(
    Homes, Threads, testing::Combine(testing::Bool(), testing::Values(Tier::kHost, Tier::kNvme)));

}  // namespace
}  // namespace stepwell::residency
