#include "src/base/format.h"

#include <limits>

#include <gtest/gtest.h>

namespace stepwell {
namespace {

TEST(FormatBytes, PicksTheUnitAndThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(64ULL << 20), "64 MiB");
  EXPECT_EQ(format_bytes((std::uint64_t{1} << 30) + (std::uint64_t{1} << 28)), "1.25 GiB");
}

TEST(FormatRate, RefusesWhatIsNoRate) {
  EXPECT_EQ(format_rate(2048), "2 KiB/s");
  EXPECT_EQ(format_rate(std::numeric_limits<double>::infinity()), "-");
}

TEST(Concat, StreamsEveryArgument) {
  EXPECT_EQ(concat("a", 1, '-', 2.5), "a1-2.5");
}

}  // namespace
}  // namespace stepwell
