// Random programs against a shadow copy: whatever the table does, operators find what they wrote.
#include <algorithm>
#include <numeric>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "tests/residency/table_bench.h"

namespace stepwell::residency {
namespace {

struct Homes {
  const char* name;
  Tier device_home;  // of pages that are used on the device
  bool with_host_pages;
  bool unified;
};

void PrintTo(const Homes& homes, std::ostream* out) {
  *out << homes.name;
}

/// What a page must contain.
struct Shadow {
  PageId id;
  std::uint64_t blocks = 1;
  Tier pool = Tier::kDevice;
  bool zero_fill = false;
  std::optional<int> value;  // every byte; nothing: undefined

  std::uint64_t bytes() const { return blocks * kBlock - 7; }
};

/// One operator of a program: pages by index, and how.
using Operator = std::vector<std::pair<std::size_t, Access>>;

class Program {
 public:
  static constexpr std::size_t kPages = 8;

  Program(const Homes& homes, unsigned seed)
      : homes_(homes), random_(seed), bench_(budgets(homes, seed % 3)) {
    for (std::size_t index = 0; index < kPages; ++index) {
      pages_.emplace_back();
      create(index);
    }
    for (int count = 0; count < 25; ++count) {
      step_.push_back(random_operator());
    }
  }

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      bench_.table.begin_step(StepKind::kTraining);
      for (const Operator& planned : step_) {
        deviate();
        run_operator(planned, pick(10) == 0);
      }
      bench_.table.end_step(StepKind::kTraining);
      if (pick(4) == 0) {
        bench_.table.begin_step(StepKind::kEvaluation);
        run_operator(random_operator(), false);
        bench_.table.end_step(StepKind::kEvaluation);
      }
    }
    finish();
  }

 private:
  static std::uint64_t blocks_of(std::size_t index) { return 1 + index % 4; }
  bool on_host(std::size_t index) const { return homes_.with_host_pages && index % 3 == 2; }

  /// Slack 0: exactly what the largest operator needs.
  static BenchOptions budgets(const Homes& homes, std::uint64_t slack) {
    BenchOptions options{.device_blocks = 4 + 3 + slack * 2, .unified = homes.unified};
    std::uint64_t all = 0;
    for (std::size_t index = 0; index < kPages; ++index) {
      all += blocks_of(index);
    }
    // Pages at home, pages used on the host, and one block on the way.
    options.host_blocks = homes.device_home == Tier::kHost ? all : 0;
    options.host_blocks += (homes.with_host_pages ? 4 + 3 : 0) + 4 + slack;
    options.prefetch_blocks = slack * 4;
    return options;
  }

  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  void create(std::size_t index) {
    Shadow& page = pages_[index];
    page = {.blocks = blocks_of(index),
            .pool = on_host(index) ? Tier::kHost : Tier::kDevice,
            .zero_fill = pick(2) == 0};
    page.value = page.zero_fill ? std::optional(0) : std::nullopt;
    page.id = bench_.table
                  .create({.name = "p" + std::to_string(index),
                           .size_bytes = page.bytes(),
                           .pool = page.pool,
                           .home = on_host(index) ? Tier::kNvme : homes_.device_home,
                           .keep_resident = pick(5) == 0,
                           .zero_fill = page.zero_fill})
                  .value_or_throw();
  }

  Operator random_operator() {
    Operator made;
    std::vector<std::size_t> order(kPages);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random_);
    std::uint64_t blocks = 0;
    for (const std::size_t index : order) {
      blocks += blocks_of(index);
      if (made.size() == 3 || blocks > 7) {
        break;
      }
      made.emplace_back(index, static_cast<Access>(pick(4)));
    }
    return made;
  }

  /// Now and then something that the recorded step did not do.
  void deviate() {
    const std::size_t index = pick(kPages);
    switch (pick(40)) {
      case 0:
        bench_.table.discard(pages_[index].id);
        pages_[index].value = pages_[index].zero_fill ? std::optional(0) : std::nullopt;
        break;
      case 1:
        bench_.table.destroy(pages_[index].id);
        create(index);
        break;
      case 2:
        run_operator(random_operator(), false);
        break;
      case 3:
        bench_.table.rename(pages_[index].id, "renamed");
        break;
      default:
        break;
    }
  }

  void run_operator(const Operator& made, bool long_hold) {
    std::vector<PageUse> uses;
    for (const auto& [index, access] : made) {
      uses.push_back({pages_[index].id, access});
    }
    const Hold hold = long_hold ? Hold::kLong : Hold::kOperator;
    const Status status = bench_.table.acquire(bench_.name, uses, hold);
    ASSERT_TRUE(status.ok()) << status.to_string();
    for (const auto& [index, access] : made) {
      touch(pages_[index], access);
    }
    bench_.table.release(uses, hold);
    for (const auto& [index, access] : made) {
      if (access == Access::kConsume) {
        pages_[index].value = pages_[index].zero_fill ? std::optional(0) : std::nullopt;
      }
    }
  }

  void touch(Shadow& page, Access access) {
    std::byte* data = bench_.table.data(page.id);
    if (page.value && access != Access::kOverwrite) {
      const auto expected = static_cast<std::byte>(*page.value);
      const auto* end = data + page.bytes();
      ASSERT_EQ(std::find_if(data, data + page.bytes(), [&](std::byte b) { return b != expected; }),
                end)
          << "page " << page.id.value;
    }
    if (access == Access::kOverwrite || (access == Access::kWrite && pick(3) != 0)) {
      page.value = static_cast<int>(pick(256));
      std::memset(data, *page.value, page.bytes());
    }
  }

  void finish() {
    bench_.table.settle();
    EXPECT_LE(bench_.device_budget.usage().peak_bytes, bench_.device_budget.limit_bytes());
    EXPECT_LE(bench_.host_budget.usage().peak_bytes, bench_.host_budget.limit_bytes());
    for (std::size_t index = 0; index < kPages; ++index) {
      run_operator({{index, Access::kRead}}, false);
      bench_.table.destroy(pages_[index].id);
    }
    EXPECT_EQ(bench_.device_pool.live_bytes() + bench_.host_pool.live_bytes(), 0U);
    EXPECT_EQ(bench_.swap->stats().allocated_bytes, 0U);
    EXPECT_EQ(bench_.table.page_bytes(), 0U);
  }

  Homes homes_;
  std::mt19937 random_;
  Bench bench_;
  std::vector<Shadow> pages_;
  std::vector<Operator> step_;
};

class RandomProgram : public testing::TestWithParam<Homes> {};

TEST_P(RandomProgram, FindsWhatItWrote) {
  for (unsigned seed = 0; seed < 9; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Program(GetParam(), seed).run(8);
    if (HasFatalFailure()) {
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Homes,
    RandomProgram,
    testing::Values(Homes{"nvme", Tier::kNvme, false, true},
                    Homes{"nvme_and_host_pages", Tier::kNvme, true, true},
                    Homes{"host", Tier::kHost, false, true},
                    Homes{"host_and_host_pages", Tier::kHost, true, true},
                    Homes{"own_memory_nvme", Tier::kNvme, false, false},
                    Homes{"own_memory_nvme_and_host_pages", Tier::kNvme, true, false},
                    Homes{"own_memory_host", Tier::kHost, false, false},
                    Homes{"own_memory_host_and_host_pages", Tier::kHost, true, false}),
    [](const testing::TestParamInfo<Homes>& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace stepwell::residency
