#include "swap/checksum.h"

#include <xxhash.h>

namespace stepwell::swap {

std::uint64_t checksum_of(const std::byte* data, std::uint64_t bytes) {
  return XXH3_64bits(data, bytes);
}

}  // namespace stepwell::swap
