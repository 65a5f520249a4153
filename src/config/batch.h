// The three batch sizes, of which any two give the third.
#pragma once

#include <cstdint>
#include <optional>

#include "stepwell/status.h"

namespace stepwell::config {

/// What the configuration gives; an empty one is derived.
struct GivenBatch {
  std::optional<std::uint64_t> train;               // T, samples per optimizer step
  std::optional<std::uint64_t> micro;               // M, samples per forward on one rank
  std::optional<std::uint64_t> accumulation_steps;  // G
};

/// T = M * G * ranks, all positive.
struct Batch {
  std::uint64_t train = 1;
  std::uint64_t micro = 1;
  std::uint64_t accumulation_steps = 1;
};

/// Largest T.
inline constexpr std::uint64_t kBatchMax = 1'000'000'000'000'000;

/// Derives what is not given; `ranks` is at least one. kInvalidArgument: neither T nor M given, or
/// the four numbers do not fit each other (they are in the message).
Result<Batch> derive_batch(const GivenBatch& given, std::uint64_t ranks);

}  // namespace stepwell::config
