#include "src/config/batch.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepwell::config {
namespace {

using Given = std::optional<std::uint64_t>;

/// All (T, M, G) with T = M * G * ranks that agree with what is given, G as small as possible when
/// it is free: what derivation must find.
std::optional<Batch> search(const GivenBatch& given, std::uint64_t ranks) {
  if (!given.train && !given.micro) {
    return std::nullopt;
  }
  for (std::uint64_t steps = 1; steps <= 40; ++steps) {
    for (std::uint64_t micro = 1; micro <= 40; ++micro) {
      const std::uint64_t train = micro * steps * ranks;
      if (given.train.value_or(train) == train && given.micro.value_or(micro) == micro &&
          given.accumulation_steps.value_or(steps) == steps) {
        return Batch{train, micro, steps};
      }
    }
  }
  return std::nullopt;
}

TEST(DeriveBatch, AgreesWithASearch) {
  const Given choices[] = {{}, 1, 2, 3, 4, 6, 7, 8, 12, 24};
  int accepted = 0;
  for (const Given& train : choices) {
    for (const Given& micro : choices) {
      for (const Given& steps : choices) {
        for (std::uint64_t ranks = 1; ranks <= 4; ++ranks) {
          const GivenBatch given{train, micro, steps};
          const std::optional<Batch> expected = search(given, ranks);
          const Result<Batch> found = derive_batch(given, ranks);
          ASSERT_EQ(found.ok(), expected.has_value());
          if (found.ok()) {
            ++accepted;
            EXPECT_EQ(found.value().train, expected->train);
            EXPECT_EQ(found.value().micro, expected->micro);
            EXPECT_EQ(found.value().accumulation_steps, expected->accumulation_steps);
          }
        }
      }
    }
  }
  EXPECT_GT(accepted, 300);
}

TEST(DeriveBatch, NamesTheFourNumbers) {
  const Result<Batch> found = derive_batch({.train = 10, .micro = 3, .accumulation_steps = 2}, 4);
  EXPECT_THAT(found.status().message(), testing::HasSubstr("10 is not 3 x 2 x 4"));
}

TEST(DeriveBatch, FewerSamplesThanRanksIsNoBatch) {
  EXPECT_FALSE(derive_batch({.train = 3}, 4).ok());
}

TEST(DeriveBatch, AProductThatOverflowsIsRefused) {
  const std::uint64_t large = kBatchMax;
  EXPECT_FALSE(derive_batch({.micro = large, .accumulation_steps = large}, 4).ok());
  const std::uint64_t ranks = std::numeric_limits<std::uint64_t>::max();
  EXPECT_FALSE(derive_batch({.micro = 2}, ranks).ok());
}

}  // namespace
}  // namespace stepwell::config
