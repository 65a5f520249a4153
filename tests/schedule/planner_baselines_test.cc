// The planner against other ways to decide: the best possible one, and simple policies.
#include <algorithm>
#include <array>
#include <bit>
#include <list>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "src/schedule/planner.h"
#include "tests/schedule/random_schedule.h"

namespace stepwell::schedule {
namespace {

std::vector<PageFacts> units(std::uint32_t count) {
  return std::vector<PageFacts>(count, {.size_bytes = 1, .movable = true});
}

/// What a cache without knowledge of the schedule does: pages in the order in which they go, and
/// the pages of the next `window` positions fetched ahead at no cost.
struct Policy {
  bool renew_on_use = true;  // least recently used; false: first in, first out
  std::uint64_t window = 0;
};

class Cache {
 public:
  Cache(const Schedule& schedule, std::uint64_t capacity, const Policy& policy)
      : schedule_(schedule), capacity_(capacity), policy_(policy) {}

  /// Faults of one round in the steady state, averaged over several because it may alternate.
  double faults() {
    constexpr std::uint64_t kWarm = 4;
    constexpr std::uint64_t kCounted = 12;
    const std::uint64_t length = schedule_.positions.size();
    std::uint64_t count = 0;
    for (std::uint64_t now = 0; now < (kWarm + kCounted) * length; ++now) {
      const std::uint64_t missed = use(now);
      count += now >= kWarm * length ? missed : 0;
    }
    return static_cast<double>(count) / kCounted;
  }

 private:
  std::uint64_t use(std::uint64_t now) {
    std::uint64_t missed = 0;
    std::set<PageId> keep = pages_at(now);
    for (const PageId page : keep) {
      missed += bring(page, keep) ? 1U : 0U;
    }
    for (std::uint64_t ahead = 1; ahead <= policy_.window; ++ahead) {
      for (const PageId page : pages_at(now + ahead)) {
        keep.insert(page);
        if (keep.size() > capacity_) {
          return missed;
        }
        bring(page, keep);
      }
    }
    return missed;
  }

  std::set<PageId> pages_at(std::uint64_t now) const {
    std::set<PageId> pages;
    for (const PageUse& used : schedule_.uses_of(now % schedule_.positions.size())) {
      pages.insert(used.page);
    }
    return pages;
  }

  /// True when the page was absent. What goes is the first in the order that is not in `keep`.
  bool bring(PageId page, const std::set<PageId>& keep) {
    const auto found = std::find(order_.begin(), order_.end(), page);
    if (found != order_.end()) {
      if (policy_.renew_on_use) {
        order_.splice(order_.end(), order_, found);
      }
      return false;
    }
    if (order_.size() == capacity_) {
      order_.erase(std::find_if(
          order_.begin(), order_.end(), [&](PageId other) { return !keep.contains(other); }));
    }
    order_.push_back(page);
    return true;
  }

  const Schedule& schedule_;
  std::uint64_t capacity_;
  Policy policy_;
  std::list<PageId> order_;  // first to go at the front
};

/// Fewest faults of `rounds` rounds for schedules with one page a position: every choice is tried.
std::uint64_t fewest_faults(const Schedule& schedule,
                            std::uint32_t page_count,
                            int capacity,
                            std::uint64_t rounds) {
  std::map<std::uint32_t, std::uint64_t> best{{0, 0}};  // resident pages as bits, to faults so far
  for (std::uint64_t now = 0; now < rounds * schedule.positions.size(); ++now) {
    const std::uint32_t page = schedule.uses_of(now % schedule.positions.size()).front().page.value;
    std::map<std::uint32_t, std::uint64_t> next;
    const auto reach = [&](std::uint32_t resident, std::uint64_t faults) {
      const auto [entry, first] = next.try_emplace(resident, faults);
      entry->second = first ? faults : std::min(entry->second, faults);
    };
    for (const auto& [resident, faults] : best) {
      const std::uint32_t with = resident | (1U << page);
      if (with == resident) {
        reach(resident, faults);
      } else if (std::popcount(resident) < capacity) {
        reach(with, faults + 1);
      } else {
        for (std::uint32_t victim = 0; victim < page_count; ++victim) {
          if ((resident >> victim & 1U) != 0) {
            reach(with & ~(1U << victim), faults + 1);
          }
        }
      }
    }
    best = std::move(next);
  }
  return std::min_element(
             best.begin(),
             best.end(),
             [](const auto& left, const auto& right) { return left.second < right.second; })
      ->second;
}

TEST(PlannerBaselines, FaultsAreTheFewestPossible) {
  constexpr std::uint32_t kPages = 6;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    Schedule schedule;
    for (std::uint64_t length = 4 + random() % 10; length > 0; --length) {
      const PageUse use{PageId{static_cast<std::uint32_t>(random() % kPages)}};
      schedule.add(NameId{0}, std::span(&use, 1), 0);
    }
    const int capacity = 1 + static_cast<int>(random() % 4);
    const auto facts = units(kPages);
    const Plan made =
        plan(schedule, {.pages = facts, .pool_bytes = {static_cast<std::uint64_t>(capacity), 0}});
    const std::uint64_t four = fewest_faults(schedule, kPages, capacity, 4);
    const std::uint64_t sixteen = fewest_faults(schedule, kPages, capacity, 16);
    // Twelve rounds; one round of a schedule whose best rounds differ is off by less than one.
    ASSERT_NEAR(
        static_cast<double>(made.planned_faults), static_cast<double>(sixteen - four) / 12.0, 0.99)
        << "seed " << seed;
    if ((sixteen - four) % 12 == 0) {
      ASSERT_EQ(made.planned_faults, (sixteen - four) / 12) << "seed " << seed;
    }
  }
}

TEST(PlannerBaselines, NoSimplePolicyHasFewerFaults) {
  const std::vector<Policy> policies{{.renew_on_use = true},
                                     {.renew_on_use = false},
                                     {.renew_on_use = true, .window = 1},
                                     {.renew_on_use = true, .window = 3}};
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const Schedule schedule = test::random_schedule(random, 10, 5 + random() % 40, true);
    const std::uint64_t capacity = 2 + random() % 6;
    const auto facts = units(10);
    for (const Policy& policy : policies) {
      const Plan made = plan(schedule,
                             {.pages = facts,
                              .pool_bytes = {capacity, 0},
                              .prefetch_bytes_max = policy.window == 0 ? 0 : UINT64_MAX / 2});
      ASSERT_LT(static_cast<double>(made.planned_faults),
                Cache(schedule, capacity, policy).faults() + 1.0)
          << "seed " << seed << " window " << policy.window;
    }
  }
}

TEST(PlannerBaselines, PoolsArePlannedApart) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const Schedule schedule = test::random_schedule(random, 10, 5 + random() % 30, false);
    // The same schedule with the pages of one pool only.
    std::array<Schedule, 2> of_pool;
    auto facts = units(10);
    for (std::uint32_t page = 0; page < 10; ++page) {
      facts[page].pool = page % 2 == 0 ? Tier::kDevice : Tier::kHost;
    }
    for (std::size_t position = 0; position < schedule.positions.size(); ++position) {
      std::array<std::vector<PageUse>, 2> uses;
      for (const PageUse& use : schedule.uses_of(position)) {
        uses[use.page.value % 2].push_back(use);
      }
      of_pool[0].add(NameId{0}, uses[0], 0);
      of_pool[1].add(NameId{0}, uses[1], 0);
    }
    const PlanInputs inputs{.pages = facts, .pool_bytes = {3, 2}, .prefetch_bytes_max = 2};
    const Plan both = plan(schedule, inputs);
    EXPECT_EQ(both.planned_faults,
              plan(of_pool[0], inputs).planned_faults + plan(of_pool[1], inputs).planned_faults)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace stepwell::schedule
