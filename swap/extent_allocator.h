// Free ranges of the swap file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "stepwell/status.h"

namespace stepwell::swap {

/// First fit in address order over free ranges that are joined as soon as they touch, in units of
/// kExtentAlignment. Does not grow over time: what is given back is found again. Thread-compatible.
class ExtentAllocator {
 public:
  /// Offset of `bytes` (rounded up to whole units), or nothing when no free range is long enough.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes);
  /// Gives a range back that allocate() or grow() gave.
  void release(std::uint64_t offset, std::uint64_t bytes);
  /// The space ends at `total_bytes` now; what was added is free.
  void grow(std::uint64_t total_bytes);

  std::uint64_t total_bytes() const { return total_bytes_; }
  std::uint64_t free_bytes() const { return free_bytes_; }
  /// Free bytes at the very end of the space: growing by less than a request needs is enough.
  std::uint64_t tail_free_bytes() const;
  std::size_t range_count() const { return free_.size(); }

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  // offset to length
  std::uint64_t total_bytes_ = 0;
  std::uint64_t free_bytes_ = 0;
};

}  // namespace stepwell::swap
