// The memory that requests read into and write from, kept from one measurement to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "stepwell/memory/pool.h"
#include "stepwell/status.h"

namespace stepwell::swap_bench {

/// Thread-compatible. Aligned to 4 KiB, filled with incompressible bytes when it grows.
class Buffers {
 public:
  /// Half of the memory that is available now is the most that it takes.
  Buffers();

  /// The first `size_bytes` of the memory, valid until a larger piece is asked for.
  /// kBudgetExceeded: more than the limit, with both numbers.
  Result<std::span<std::byte>> get(std::uint64_t size_bytes);
  std::uint64_t limit_bytes() const { return budget_.limit_bytes(); }

 private:
  memory::Budget budget_;
  std::unique_ptr<memory::Source> source_;
  memory::Pool pool_;
  memory::Block block_;
};

}  // namespace stepwell::swap_bench
