// Sizes in bytes: units and the integer arithmetic of alignment. All sizes are std::uint64_t bytes.
#pragma once

#include <cstdint>

namespace stepwell {

inline constexpr std::uint64_t kKiB = std::uint64_t{1} << 10;
inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

/// Smallest number of `divisor`-sized pieces that cover `value`. `divisor` must not be 0.
constexpr std::uint64_t div_ceil(std::uint64_t value, std::uint64_t divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

/// `value` rounded up to a multiple of `alignment` (any value above 0).
constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return div_ceil(value, alignment) * alignment;
}

/// `value` rounded down to a multiple of `alignment` (any value above 0).
constexpr std::uint64_t align_down(std::uint64_t value, std::uint64_t alignment) {
  return value - value % alignment;
}

constexpr bool is_aligned(std::uint64_t value, std::uint64_t alignment) {
  return value % alignment == 0;
}

static_assert(div_ceil(0, 4) == 0 && div_ceil(1, 4) == 1 && div_ceil(4, 4) == 1 &&
              div_ceil(5, 4) == 2);
static_assert(align_up(4097, 4096) == 8192 && align_down(4097, 4096) == 4096);

}  // namespace stepwell
