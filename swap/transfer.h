// One asynchronous movement of bytes between memory and an extent, split into block-sized I/O
// requests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "io/volume.h"
#include "stepwell/status.h"
#include "swap/extent.h"

namespace stepwell::swap {

/// Owned by the caller and reusable once completed; same lifetime rules as io::Op. The range must
/// start at a checksum block and end at a checksum block or at the end of the extent. `data` needs
/// room for the range rounded up to kExtentAlignment and must be aligned to it; bytes behind the
/// logical end may be overwritten by a read.
struct Transfer {
  using Callback = void (*)(Transfer& transfer, const Status& status) noexcept;

  io::Direction direction = io::Direction::kRead;
  io::Priority priority = io::Priority::kDemand;
  Extent* extent = nullptr;
  std::uint64_t offset_bytes = 0;  // inside the extent
  std::uint64_t size_bytes = 0;    // logical bytes
  std::byte* data = nullptr;
  Callback on_complete = nullptr;  // on an I/O thread; must not block
  void* context = nullptr;

  // Owned by the swap space while in flight.
  void* space = nullptr;  // null: not in flight
  io::Request request;    // its `abandoned` tells, after kTimedOut, that `data` must not be reused
};

}  // namespace stepwell::swap
