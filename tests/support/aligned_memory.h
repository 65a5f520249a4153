// Page-aligned memory for direct I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "stepwell/bytes.h"

namespace stepwell::test {

class AlignedMemory {
 public:
  explicit AlignedMemory(std::uint64_t size_bytes)
      : size_bytes_(align_up(size_bytes, kPageBytes)),
        data_(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, size_bytes_))) {}
  std::span<std::byte> bytes() { return {data_.get(), size_bytes_}; }

 private:
  static constexpr std::uint64_t kPageBytes = 4096;
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::uint64_t size_bytes_;
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace stepwell::test
