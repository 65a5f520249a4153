// Linear warm-up, then half a cosine down to a tenth.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace stepwell::train {

struct LearningRate {
  double peak = 1e-3;
  std::uint64_t warmup_steps = 0;
  std::uint64_t steps = 1;

  /// Of step `step`, counted from 1.
  double at(std::uint64_t step) const {
    constexpr double kFloor = 0.1;
    if (step <= warmup_steps) {
      return peak * static_cast<double>(step) / static_cast<double>(warmup_steps);
    }
    const auto done = static_cast<double>(step - warmup_steps);
    const auto all = static_cast<double>(std::max(steps, warmup_steps + 1) - warmup_steps);
    const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(1.0, done / all)));
    return peak * (kFloor + (1.0 - kFloor) * cosine);
  }
};

}  // namespace stepwell::train
