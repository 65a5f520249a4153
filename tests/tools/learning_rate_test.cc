#include "tools/train/learning_rate.h"

#include <gtest/gtest.h>

namespace stepwell::train {
namespace {

TEST(LearningRate, WarmsUpAndFallsToATenth) {
  const LearningRate rate{.peak = 1.0, .warmup_steps = 4, .steps = 104};
  EXPECT_DOUBLE_EQ(rate.at(1), 0.25);
  EXPECT_DOUBLE_EQ(rate.at(4), 1.0);
  EXPECT_DOUBLE_EQ(rate.at(54), 0.55);
  EXPECT_DOUBLE_EQ(rate.at(104), 0.1);
}

TEST(LearningRate, NeedsNoWarmUp) {
  const LearningRate rate{.peak = 2.0, .warmup_steps = 0, .steps = 1};
  EXPECT_DOUBLE_EQ(rate.at(1), 0.2);
}

TEST(LearningRate, MayEndWithinItsWarmUp) {
  const LearningRate rate{.peak = 1.0, .warmup_steps = 10, .steps = 5};
  EXPECT_DOUBLE_EQ(rate.at(5), 0.5);
}

}  // namespace
}  // namespace stepwell::train
