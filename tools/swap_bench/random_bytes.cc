#include "tools/swap_bench/random_bytes.h"

#include <algorithm>
#include <cstring>

#include "stepwell/bytes.h"

namespace stepwell::swap_bench {

void fill_random(std::span<std::byte> bytes, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t value = random.next();
    std::memcpy(bytes.data() + at, &value, std::min(sizeof value, bytes.size() - at));
  }
}

void stamp(std::span<std::byte> bytes, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size(); at += 4 * kKiB) {
    const std::uint64_t value = random.next();
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
}

}  // namespace stepwell::swap_bench
