#include "io/stripe.h"

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace stepwell::io {
namespace {

TEST(StripeLayout, OneMemberIsTheFileItself) {
  const StripeLayout layout = StripeLayout::create(std::vector<double>{7}, 4096).value();
  const StripeLayout::Piece piece = layout.first_piece(12345, 1 << 30);
  EXPECT_EQ(piece.member_offset, 12345U);
  EXPECT_EQ(piece.size_bytes, 1U << 30);
  EXPECT_EQ(layout.member_bytes(0, 999), 999U);
}

/// Every byte of the volume has its own byte on a member, inside the bytes the member reserves.
TEST(StripeLayout, NoTwoBytesShareAPlace) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 40; ++round) {
    std::vector<double> weights(1 + random() % 5);
    for (double& weight : weights) {
      weight = 1 + static_cast<double>(random() % 10);
    }
    constexpr std::uint64_t kStripe = 16;
    const StripeLayout layout = StripeLayout::create(weights, kStripe).value();
    const std::uint64_t total = 1 + random() % 5000;
    std::set<std::pair<std::uint32_t, std::uint64_t>> taken;
    for (std::uint64_t at = 0; at < total;) {
      const StripeLayout::Piece piece = layout.first_piece(at, 1 + random() % (total - at));
      ASSERT_EQ(piece.volume_offset, at);
      ASSERT_GT(piece.size_bytes, 0U);
      for (std::uint64_t byte = 0; byte < piece.size_bytes; ++byte) {
        ASSERT_TRUE(taken.emplace(piece.member, piece.member_offset + byte).second);
        ASSERT_LT(piece.member_offset + byte, layout.member_bytes(piece.member, total));
      }
      at += piece.size_bytes;
    }
  }
}

TEST(StripeLayout, BytesFollowTheWeights) {
  const StripeLayout layout =
      StripeLayout::create(std::vector<double>{3e9, 1e9, 2e9}, 4096).value();
  std::map<std::uint32_t, double> bytes;
  constexpr std::uint64_t kTotal = 4096 * 6000;
  for (std::uint64_t at = 0; at < kTotal; at += 4096) {
    bytes[layout.first_piece(at, 4096).member] += 4096.0 / kTotal;
  }
  EXPECT_NEAR(bytes[0], 0.5, 0.02);
  EXPECT_NEAR(bytes[1], 1.0 / 6, 0.02);
  EXPECT_NEAR(bytes[2], 1.0 / 3, 0.02);
}

TEST(StripeLayout, BadInputIsRefused) {
  const auto code = [](std::vector<double> weights, std::uint64_t stripe) {
    return StripeLayout::create(weights, stripe).status().code();
  };
  EXPECT_EQ(code({}, 4096), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(std::vector<double>(65, 1.0), 4096), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({1, 0}, 4096), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({1, -2}, 4096), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({1, std::nan("")}, 4096), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({1, std::numeric_limits<double>::infinity()}, 4096), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({1}, 0), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace stepwell::io
