// The yardstick of a byte-level language model: what counting pairs of bytes achieves.
#pragma once

#include <cstdint>
#include <span>

namespace stepwell::data {

/// Mean negative log-likelihood, in nats a byte, of `held_out` under pair counts of `train` with
/// 0.5 added to each of the 256 * 256. Both at least two bytes.
double bigram_nats_per_byte(std::span<const std::uint8_t> train,
                            std::span<const std::uint8_t> held_out);

}  // namespace stepwell::data
