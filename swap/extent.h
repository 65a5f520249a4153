// A byte range of the swap file that holds one page, with a checksum for each block of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepwell/bytes.h"

namespace stepwell::swap {

/// Unit of checksums, and the granularity of transfers inside an extent (the last block of an
/// extent may be short).
inline constexpr std::uint64_t kChecksumBlockBytes = kMiB;
/// Extents start at multiples of this and occupy multiples of it: fit for direct I/O on every known
/// device.
inline constexpr std::uint64_t kExtentAlignment = 4096;

/// Owned by whoever allocated it; given back with SwapSpace::release. Not copied while a transfer
/// uses it.
struct Extent {
  std::uint64_t offset = UINT64_MAX;  // in the swap file
  std::uint64_t size_bytes = 0;       // logical length, as asked for
  std::string name;                   // parameter or state, for messages
  std::vector<std::uint64_t>
      checksums;              // one per checksum block; meaningful where `written` is set
  std::vector<bool> written;  // block holds data
  bool abandoned = false;     // a write that never completed may still reach it: not to be reused

  bool valid() const { return offset != UINT64_MAX; }
  std::uint64_t block_count() const { return div_ceil(size_bytes, kChecksumBlockBytes); }
};

}  // namespace stepwell::swap
