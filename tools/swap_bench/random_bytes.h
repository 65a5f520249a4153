// Bytes that no disk can compress or store once for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stepwell::swap_bench {

/// SplitMix64: any seed gives a good sequence.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }
  /// 0 to `bound` - 1 (above 0), near enough to even.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

/// Fills all of `bytes`.
void fill_random(std::span<std::byte> bytes, std::uint64_t seed);

/// Changes 8 bytes of every 4 KiB, each time to something else, so that a buffer that is written
/// again differs from what it was in every block that a disk could compare.
void stamp(std::span<std::byte> bytes, std::uint64_t seed);

}  // namespace stepwell::swap_bench
