// When is a page used next? The question behind eviction and prefetch, answered from a schedule
// that repeats.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "src/schedule/schedule.h"

namespace stepwell::schedule {

/// Distance of a page that the schedule never uses.
inline constexpr std::uint64_t kNever = UINT64_MAX;

/// Immutable index over one schedule; thread-safe.
class NextUseIndex {
 public:
  NextUseIndex() = default;
  explicit NextUseIndex(const Schedule& schedule);

  /// Positions from `position` (inclusive) to the next one that uses `page`, going on with the
  /// start of the schedule after its end, so at most length-1 when the page is used at all; else
  /// kNever.
  std::uint64_t distance(PageId page, std::uint64_t position) const;
  /// First position at or after `position` that uses `page`, without wrapping; kNever when there is
  /// none.
  std::uint64_t at_or_after(PageId page, std::uint64_t position) const;

 private:
  std::uint64_t length_ = 0;
  std::unordered_map<PageId, std::vector<std::uint32_t>> positions_;  // ascending, no repeats
};

}  // namespace stepwell::schedule
