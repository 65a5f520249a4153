// The checksum of swapped bytes: XXH3, 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepwell::swap {

std::uint64_t checksum_of(const std::byte* data, std::uint64_t bytes);

}  // namespace stepwell::swap
