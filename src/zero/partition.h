// Which part of a parameter belongs to which rank.
#pragma once

#include <algorithm>
#include <cstdint>

#include "stepwell/bytes.h"

namespace stepwell::zero {

/// Elements [first, first + count) of a flat parameter.
struct ShardRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// Rank `rank` of `world` holds ceil(elements / world) elements, the last ranks fewer or none. One
/// rank holds all.
constexpr ShardRange shard_of(std::uint64_t elements, std::uint64_t rank, std::uint64_t world) {
  const std::uint64_t length = div_ceil(elements, world);
  const std::uint64_t first = std::min(rank * length, elements);
  return {.first = first, .count = std::min(length, elements - first)};
}

}  // namespace stepwell::zero
