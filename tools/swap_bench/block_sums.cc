#include "tools/swap_bench/block_sums.h"

#include <algorithm>

#include <xxhash.h>

#include "stepwell/check.h"

namespace stepwell::swap_bench {
namespace {

std::uint64_t sum_of(std::span<const std::byte> bytes, std::uint64_t index) {
  return XXH3_64bits(bytes.data() + index * BlockSums::kBlockBytes, BlockSums::kBlockBytes);
}

}  // namespace

bool BlockSums::take(std::uint64_t first, std::uint64_t count) {
  STEPWELL_CHECK(first + count <= blocks(), "blocks beyond the volume");
  const auto begin = in_use_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  if (std::find(begin, end, true) != end) {
    return false;
  }
  std::fill(begin, end, true);
  return true;
}

void BlockSums::give_back(std::uint64_t first, std::uint64_t count) {
  std::fill_n(in_use_.begin() + static_cast<std::ptrdiff_t>(first), count, false);
}

void BlockSums::remember(std::uint64_t first, std::span<const std::byte> bytes) {
  for (std::uint64_t index = 0; index < bytes.size() / kBlockBytes; ++index) {
    sums_[first + index] = sum_of(bytes, index);
    known_[first + index] = true;
  }
}

std::optional<BlockSums::Mismatch> BlockSums::check(std::uint64_t first,
                                                    std::span<const std::byte> bytes) const {
  for (std::uint64_t index = 0; index < bytes.size() / kBlockBytes; ++index) {
    const std::uint64_t block = first + index;
    if (!known_[block]) {
      continue;
    }
    const std::uint64_t found = sum_of(bytes, index);
    if (found != sums_[block]) {
      return Mismatch{block, sums_[block], found};
    }
  }
  return std::nullopt;
}

std::uint64_t BlockSums::known_bytes(std::uint64_t first, std::uint64_t count) const {
  const auto begin = known_.begin() + static_cast<std::ptrdiff_t>(first);
  return kBlockBytes * static_cast<std::uint64_t>(
                           std::count(begin, begin + static_cast<std::ptrdiff_t>(count), true));
}

}  // namespace stepwell::swap_bench
