#include "src/data/bigram.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace stepwell::data {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST(Bigram, CountsPairsAndAddsAHalf) {
  // After 'a' (three times): 'b' twice, 'a' once. P(b|a) = 2.5/131, P(a|a) = 1.5/131.
  const Bytes train{'a', 'b', 'a', 'a', 'b'};
  EXPECT_NEAR(bigram_nats_per_byte(train, Bytes{'a', 'b'}), -std::log(2.5 / 131), 1e-12);
  EXPECT_NEAR(bigram_nats_per_byte(train, Bytes{'a', 'a', 'b'}),
              -(std::log(1.5 / 131) + std::log(2.5 / 131)) / 2,
              1e-12);
}

TEST(Bigram, GivesEveryByteTheSameShareWhereNothingWasSeen) {
  EXPECT_NEAR(bigram_nats_per_byte(Bytes{'a', 'b'}, Bytes{'x', 'y'}), std::log(256.0), 1e-12);
}

TEST(BigramDeathTest, RefusesTextsWithoutAPair) {
  EXPECT_DEATH(bigram_nats_per_byte(Bytes{'a'}, Bytes{'a', 'b'}), "two bytes");
}

}  // namespace
}  // namespace stepwell::data
