// What every block of a volume should hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "stepwell/bytes.h"

namespace stepwell::swap_bench {

/// A checksum for each kBlockBytes of a volume, and which blocks are in use. Thread-compatible.
class BlockSums {
 public:
  static constexpr std::uint64_t kBlockBytes = 4 * kKiB;

  struct Mismatch {
    std::uint64_t block = 0;
    std::uint64_t expected = 0;
    std::uint64_t found = 0;
  };

  explicit BlockSums(std::uint64_t blocks) : sums_(blocks), known_(blocks), in_use_(blocks) {}

  /// Takes `count` blocks from `first` on, unless any of them is in use.
  bool take(std::uint64_t first, std::uint64_t count);
  void give_back(std::uint64_t first, std::uint64_t count);
  /// `bytes` (whole blocks) are written from block `first` on.
  void remember(std::uint64_t first, std::span<const std::byte> bytes);
  /// The first block of `bytes`, which were read from `first` on, that is not what was written.
  /// Blocks never written pass.
  std::optional<Mismatch> check(std::uint64_t first, std::span<const std::byte> bytes) const;
  /// Bytes of `count` blocks from `first` on that check() knows.
  std::uint64_t known_bytes(std::uint64_t first, std::uint64_t count) const;
  std::uint64_t blocks() const { return sums_.size(); }

 private:
  std::vector<std::uint64_t> sums_;
  std::vector<bool> known_;
  std::vector<bool> in_use_;
};

}  // namespace stepwell::swap_bench
