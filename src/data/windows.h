// Which windows of a text make up which batch: pure functions of a seed and a step, so that a run
// can be repeated, or resumed at any step, with the same batches.
#pragma once

#include <cstdint>
#include <vector>

namespace stepwell::data {

/// Number `index` of the random sequence that `seed` names; any index at once, no state.
std::uint64_t random_at(std::uint64_t seed, std::uint64_t index);

struct WindowOptions {
  std::uint64_t text_bytes = 0;
  std::uint64_t window_bytes = 0;  // at most text_bytes, above 0
  std::uint64_t count = 0;         // windows of a batch
};

/// First bytes of the windows of batch `batch`, uniform over the text.
std::vector<std::uint64_t> random_windows(const WindowOptions& options,
                                          std::uint64_t seed,
                                          std::uint64_t batch);

/// First bytes of `count` windows spread evenly over the text, the first at its start and the last
/// at its end.
std::vector<std::uint64_t> even_windows(const WindowOptions& options);

}  // namespace stepwell::data
