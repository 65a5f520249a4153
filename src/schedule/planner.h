// From a recorded step to a plan: what to drop and what to fetch at each position. A pure function.
//
// The plan is for the steady state: the step repeats, and what is resident at its end is resident
// at its start. Pages are dropped by farthest next use (Belady's rule, across the end of the step)
// and fetched in the order of use, as early as the memory allows, never at the price of a page that
// is used sooner.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "src/schedule/schedule.h"

namespace stepwell::schedule {

/// What the planner knows of a page.
struct PageFacts {
  std::uint64_t size_bytes = 0;  // as accounted in its pool (rounded up to whole blocks)
  Tier pool = Tier::kDevice;     // where operators use it; budgets are per pool
  bool movable = false;          // false: always resident, counted as such
  bool keep_resident = false;    // dropped by no plan
};

struct PlanInputs {
  /// Indexed by PageId::value; pages that are not in the schedule may be absent from it.
  std::span<const PageFacts> pages;
  /// Bytes that pages may take in each pool (device, host).
  std::array<std::uint64_t, 2> pool_bytes{};
  /// At most this many bytes are fetched and not yet used, per pool. 0: no prefetch.
  std::uint64_t prefetch_bytes_max = 0;
};

struct Action {
  enum class Kind : std::uint8_t { kDrop, kFetch };
  Kind kind = Kind::kFetch;
  PageId page;
  friend bool operator==(const Action&, const Action&) = default;
};

/// Actions to start once the pages of a position are in place, in order.
struct Plan {
  std::vector<std::uint32_t> first_action;  // one per position, plus the end
  std::vector<Action> actions;
  /// Uses that find their page absent in the steady state of the simulation: faults the plan could
  /// not avoid.
  std::uint64_t planned_faults = 0;

  std::span<const Action> actions_at(std::size_t position) const {
    return {actions.data() + first_action[position],
            first_action[position + 1] - first_action[position]};
  }
};

/// Plans `schedule`. Thread-safe; deterministic.
Plan plan(const Schedule& schedule, const PlanInputs& inputs);

}  // namespace stepwell::schedule
