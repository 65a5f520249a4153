#include "src/schedule/planner.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "src/schedule/next_use.h"

namespace stepwell::schedule {
namespace {

/// Resident pages of one pool during the simulation, ordered by next use.
class SimulatedPool {
 public:
  SimulatedPool(std::uint64_t limit_bytes, const std::vector<PageFacts>& facts)
      : limit_bytes_(limit_bytes), facts_(facts), next_use_(facts.size(), kNever) {}

  bool contains(PageId page) const { return next_use_[page.value] != kNever; }
  bool fits(std::uint64_t bytes) const {
    return used_bytes_ <= limit_bytes_ && bytes <= limit_bytes_ - used_bytes_;
  }
  void insert(PageId page, std::uint64_t next_use) {
    next_use_[page.value] = next_use;
    order_.insert({next_use, page.value});
    used_bytes_ += facts_[page.value].size_bytes;
  }
  void move_next_use(PageId page, std::uint64_t next_use) {
    order_.erase({next_use_[page.value], page.value});
    next_use_[page.value] = next_use;
    order_.insert({next_use, page.value});
  }
  /// Resident page with the farthest next use after `after`, if there is one.
  std::optional<PageId> farthest_after(std::uint64_t after) const {
    if (order_.empty() || order_.rbegin()->first <= after) {
      return std::nullopt;
    }
    return PageId{order_.rbegin()->second};
  }
  void erase(PageId page) {
    order_.erase({next_use_[page.value], page.value});
    next_use_[page.value] = kNever;
    used_bytes_ -= facts_[page.value].size_bytes;
  }

 private:
  std::uint64_t limit_bytes_;
  const std::vector<PageFacts>& facts_;
  std::uint64_t used_bytes_ = 0;
  std::vector<std::uint64_t> next_use_;                      // by page; kNever: not resident
  std::set<std::pair<std::uint64_t, std::uint32_t>> order_;  // (next use, page)
};

/// Runs the step several times on absolute positions (round * length + position) and keeps the
/// actions of the last.
class Simulation {
 public:
  Simulation(const Schedule& schedule, const PlanInputs& inputs)
      : schedule_(schedule),
        inputs_(inputs),
        length_(schedule.positions.size()),
        index_(schedule),
        facts_(inputs.pages.begin(), inputs.pages.end()),
        pools_{SimulatedPool(movable_bytes(Tier::kDevice), facts_),
               SimulatedPool(movable_bytes(Tier::kHost), facts_)},
        empty_(facts_.size(), false) {}

  Plan run() {
    constexpr std::uint64_t kRounds =
        3;  // the resident set settles after one; the last is the steady state
    for (std::uint64_t now = 0; now < kRounds * length_; ++now) {
      recording_ = now >= (kRounds - 1) * length_;
      if (recording_) {
        result_.first_action.push_back(static_cast<std::uint32_t>(result_.actions.size()));
      }
      use_position(now);
      for (int pool = 0; pool < 2; ++pool) {
        prefetch(now, pool);
      }
      let_go(now);
    }
    result_.first_action.push_back(static_cast<std::uint32_t>(result_.actions.size()));
    return std::move(result_);
  }

 private:
  std::uint64_t movable_bytes(Tier pool) const {
    std::uint64_t fixed = 0;
    for (const PageFacts& facts : inputs_.pages) {
      fixed += !facts.movable && facts.pool == pool ? facts.size_bytes : 0;
    }
    const std::uint64_t limit = inputs_.pool_bytes[static_cast<std::size_t>(pool)];
    return limit == UINT64_MAX ? limit : limit - std::min(limit, fixed);
  }

  bool movable(PageId page) const {
    return page.value < facts_.size() && facts_[page.value].movable;
  }
  std::size_t pool_index(PageId page) const {
    return static_cast<std::size_t>(facts_[page.value].pool);
  }
  SimulatedPool& pool_of(PageId page) { return pools_[pool_index(page)]; }

  void act(Action::Kind kind, PageId page) {
    if (recording_) {
      result_.actions.push_back({kind, page});
    }
  }

  /// Absolute position of the next use after `now`. A page that is to be kept is always used next.
  std::uint64_t next_after(PageId page, std::uint64_t now) const {
    if (facts_[page.value].keep_resident) {
      return 0;
    }
    const std::uint64_t distance = index_.distance(page, (now + 1) % length_);
    return distance == kNever ? kNever - 1 : now + 1 + distance;
  }

  void use_position(std::uint64_t now) {
    // First the pages of this position move to the front of the order (next use: now), so that none
    // of them is the victim of another one.
    const auto uses = schedule_.uses_of(now % length_);
    for (const PageUse& use : uses) {
      if (movable(use.page) && pool_of(use.page).contains(use.page)) {
        no_longer_ahead(use.page);
        pool_of(use.page).move_next_use(use.page, now);
      }
    }
    for (const PageUse& use : uses) {
      if (movable(use.page) && !pool_of(use.page).contains(use.page)) {
        result_.planned_faults += recording_ && needs_content(use) ? 1U : 0U;
        make_room(now, use.page);
        pool_of(use.page).insert(use.page, now);
      }
    }
  }

  /// The operator of position `now` is done: its pages may go from here on. Until then they are in
  /// use, and what is fetched while it runs cannot have their room.
  void let_go(std::uint64_t now) {
    for (const PageUse& use : schedule_.uses_of(now % length_)) {
      if (!movable(use.page) || !pool_of(use.page).contains(use.page)) {
        continue;
      }
      empty_[use.page.value] = use.access == Access::kConsume;
      if (empty_[use.page.value]) {
        pool_of(use.page).erase(use.page);
      } else {
        pool_of(use.page).move_next_use(use.page, next_after(use.page, now));
      }
    }
  }

  /// Whether an absent page has to be read for `use`.
  bool needs_content(const PageUse& use) const {
    return use.access != Access::kOverwrite && !empty_[use.page.value];
  }

  void no_longer_ahead(PageId page) {
    if (fetched_ahead_.erase(page) > 0) {
      ahead_bytes_[pool_index(page)] -= facts_[page.value].size_bytes;
    }
  }

  /// Room for a page that faults now: whatever is used farthest from now goes.
  void make_room(std::uint64_t now, PageId page) {
    SimulatedPool& pool = pool_of(page);
    while (!pool.fits(facts_[page.value].size_bytes)) {
      const std::optional<PageId> victim = pool.farthest_after(now);
      if (!victim) {
        return;  // the position alone exceeds the pool; the executor reports it
      }
      drop(*victim);
    }
  }

  void drop(PageId page) {
    no_longer_ahead(page);
    pool_of(page).erase(page);
    act(Action::Kind::kDrop, page);
  }

  void prefetch(std::uint64_t now, int pool) {
    auto& frontier = frontier_[static_cast<std::size_t>(pool)];
    frontier = std::max(frontier, now + 1);
    // One round ahead is far enough: by then every page has been met once.
    while (frontier < now + length_) {
      for (const PageUse& use : schedule_.uses_of(frontier % length_)) {
        if (movable(use.page) && pool_index(use.page) == static_cast<std::size_t>(pool) &&
            !pool_of(use.page).contains(use.page) && !fetch_ahead(use, frontier)) {
          return;
        }
      }
      ++frontier;
    }
  }

  /// Fetches the page of `use`, needed at `needed_at`, if that costs no page that is used sooner.
  bool fetch_ahead(const PageUse& use, std::uint64_t needed_at) {
    SimulatedPool& pool = pool_of(use.page);
    const std::uint64_t size = facts_[use.page.value].size_bytes;
    std::uint64_t& ahead = ahead_bytes_[pool_index(use.page)];
    if (size + ahead > inputs_.prefetch_bytes_max) {
      return false;
    }
    while (!pool.fits(size)) {
      const std::optional<PageId> victim = pool.farthest_after(needed_at);
      if (!victim) {
        return false;
      }
      drop(*victim);
    }
    pool.insert(use.page, needed_at);
    fetched_ahead_.insert(use.page);
    ahead += size;
    if (needs_content(use)) {
      act(Action::Kind::kFetch, use.page);
    }
    return true;
  }

  const Schedule& schedule_;
  const PlanInputs& inputs_;
  std::uint64_t length_;
  NextUseIndex index_;
  std::vector<PageFacts> facts_;
  std::array<SimulatedPool, 2> pools_;
  std::vector<bool> empty_;                     // by page: consumed, nothing to read
  std::array<std::uint64_t, 2> frontier_{};     // first position not yet looked at, per pool
  std::array<std::uint64_t, 2> ahead_bytes_{};  // fetched and not yet used, per pool
  std::set<PageId> fetched_ahead_;
  bool recording_ = false;
  Plan result_;
};

}  // namespace

Plan plan(const Schedule& schedule, const PlanInputs& inputs) {
  if (schedule.positions.empty()) {
    return Plan{.first_action = {0}};
  }
  return Simulation(schedule, inputs).run();
}

}  // namespace stepwell::schedule
