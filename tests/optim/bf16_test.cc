#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "src/optim/kernels.h"
#include "tests/optim/kernel_inputs.h"

namespace stepwell::optim {
namespace {

float widen(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Nearest of the two neighbours by distance in double, ties to the even pattern: independent of
/// the bit trick of the kernels.
std::uint16_t nearest_bf16(float x) {
  if (std::isnan(x)) {
    return 0x7fc0;
  }
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto low = static_cast<std::uint16_t>(bits >> 16);  // toward zero
  if ((bits & 0xffff) == 0) {
    return low;
  }
  const auto high = static_cast<std::uint16_t>(low + 1);
  // Beyond the largest finite value the grid goes on as if the exponent had no end.
  const double high_value =
      std::isinf(widen(high)) ? std::copysign(0x1p128, x) : static_cast<double>(widen(high));
  const double below = std::abs(static_cast<double>(x) - static_cast<double>(widen(low)));
  const double above = std::abs(high_value - static_cast<double>(x));
  return below < above || (below == above && low % 2 == 0) ? low : high;
}

TEST(Bf16, RoundsToNearestEven) {
  constexpr std::array<std::pair<std::uint32_t, std::uint16_t>, 10> kCases{{
      {0x3f808000, 0x3f80},  // tie, even below
      {0x3f818000, 0x3f82},  // tie, even above
      {0x3f808001, 0x3f81},  // just above a tie
      {0x3f817fff, 0x3f81},  // just below a tie
      {0x7f7fffff, 0x7f80},  // the largest float overflows to infinity
      {0xff800000, 0xff80},  // -infinity stays
      {0x80000000, 0x8000},  // -0 stays
      {0x00000001, 0x0000},  // the smallest denormal
      {0x7f800001, 0x7fc0},  // a NaN whose upper half alone would be infinity
      {0xffffffff, 0x7fc0},  // a NaN that would wrap round
  }};
  for (const Kernels* table : available_kernels()) {
    for (const auto& [pattern, expected] : kCases) {
      // Once in a vector and once in the rest behind it.
      std::vector<float> source(17, std::bit_cast<float>(pattern));
      std::vector<BFloat16> rounded(17);
      table->f32_to_bf16(rounded.data(), source.data(), 17);
      EXPECT_EQ(rounded.front().bits, expected) << std::hex << pattern;
      EXPECT_EQ(rounded.back().bits, expected) << std::hex << pattern;
    }
  }
}

TEST(Bf16, EverySetRoundsAsTheNearestNeighbourAtEveryLength) {
  Inputs inputs(11);
  for (std::uint64_t count = 0; count <= 200; ++count) {
    const std::vector<float> source = inputs.floats(count, 2);
    for (const Kernels* table : available_kernels()) {
      Shifted from(source, inputs.below(16));
      Shifted to(std::vector<BFloat16>(count + 1, BFloat16{0x1234}), inputs.below(16));
      table->f32_to_bf16(to.data(), from.data(), count);
      for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(to.data()[i].bits, nearest_bf16(source[i])) << source[i];
      }
      ASSERT_EQ(to.data()[count].bits, 0x1234) << "wrote behind the end";
    }
  }
}

TEST(Bf16, WideningKeepsEveryPattern) {
  std::vector<BFloat16> source(0x10000);
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    source[i].bits = static_cast<std::uint16_t>(i);
  }
  for (const Kernels* table : available_kernels()) {
    std::vector<float> wide(source.size());
    table->bf16_to_f32(wide.data(), source.data(), source.size() - 3);
    for (std::uint32_t i = 0; i + 3 < 0x10000; ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), i << 16);
    }
    EXPECT_EQ(wide.back(), 0.0F) << "wrote behind the end";
  }
}

TEST(FollowBf16, ChangesExactlyTheElementsWhoseRoundedMasterDiffers) {
  Inputs inputs(12);
  for (std::uint64_t count = 0; count <= 200; ++count) {
    const std::vector<float> master = inputs.floats(count, 4);
    std::vector<BFloat16> value = inputs.patterns(count);
    std::vector<float> expected = master;
    std::uint64_t expected_changes = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (inputs.below(3) != 0) {
        value[i].bits = nearest_bf16(master[i]);  // in step with its master: left alone
      }
      if (value[i].bits != nearest_bf16(master[i])) {
        expected[i] = widen(value[i].bits);
        ++expected_changes;
      }
    }
    for (const Kernels* table : available_kernels()) {
      Shifted actual(master, inputs.below(16));
      EXPECT_EQ(table->follow_bf16(actual.data(), value.data(), count), expected_changes);
      for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(actual.data()[i]),
                  std::bit_cast<std::uint32_t>(expected[i]));
      }
    }
  }
}

}  // namespace
}  // namespace stepwell::optim
