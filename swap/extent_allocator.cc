#include "swap/extent_allocator.h"

#include <iterator>

#include "src/base/format.h"
#include "stepwell/bytes.h"
#include "stepwell/check.h"
#include "swap/extent.h"

namespace stepwell::swap {

std::optional<std::uint64_t> ExtentAllocator::allocate(std::uint64_t bytes) {
  const std::uint64_t length = align_up(bytes, kExtentAlignment);
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    if (range->second < length) {
      continue;
    }
    const std::uint64_t offset = range->first;
    const std::uint64_t rest = range->second - length;
    free_.erase(range);
    if (rest > 0) {
      free_.emplace(offset + length, rest);
    }
    free_bytes_ -= length;
    return offset;
  }
  return std::nullopt;
}

void ExtentAllocator::release(std::uint64_t offset, std::uint64_t bytes) {
  std::uint64_t begin = offset;
  std::uint64_t length = align_up(bytes, kExtentAlignment);
  STEPWELL_CHECK(begin + length <= total_bytes_, concat("range at ", offset, " ends outside"));
  free_bytes_ += length;
  auto after = free_.lower_bound(begin);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    STEPWELL_CHECK(before->first + before->second <= begin,
                   concat("range at ", offset, " is free"));
    if (before->first + before->second == begin) {
      begin = before->first;
      length += before->second;
      free_.erase(before);
    }
  }
  if (after != free_.end()) {
    STEPWELL_CHECK(begin + length <= after->first, concat("range at ", offset, " is free"));
    if (begin + length == after->first) {
      length += after->second;
      free_.erase(after);
    }
  }
  free_.emplace(begin, length);
}

void ExtentAllocator::grow(std::uint64_t total_bytes) {
  const std::uint64_t wanted = align_down(total_bytes, kExtentAlignment);
  if (wanted > total_bytes_) {
    const std::uint64_t from = total_bytes_;
    total_bytes_ = wanted;
    release(from, wanted - from);
  }
}

std::uint64_t ExtentAllocator::tail_free_bytes() const {
  if (free_.empty()) {
    return 0;
  }
  const auto& last = *free_.rbegin();
  return last.first + last.second == total_bytes_ ? last.second : 0;
}

}  // namespace stepwell::swap
