#include "io/counters.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace stepwell::io {
namespace {

using std::chrono::nanoseconds;

TEST(LatencyHistogram, EmptyIsAllZero) {
  const LatencySummary summary = LatencyHistogram().summary();
  EXPECT_EQ(summary.count, 0U);
  EXPECT_EQ(summary.max, nanoseconds(0));
}

TEST(LatencyHistogram, PercentilesAreNeverTooLowAndAtMostAnEighthTooHigh) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    LatencyHistogram histogram;
    std::vector<std::int64_t> all;
    const std::uint64_t bits = 1 + random() % 42;
    for (int index = 0; index < 1000; ++index) {
      all.push_back(static_cast<std::int64_t>(random() & ((1ULL << bits) - 1)));
      histogram.record(nanoseconds(all.back()));
    }
    std::sort(all.begin(), all.end());
    const LatencySummary summary = histogram.summary();
    EXPECT_EQ(summary.count, all.size());
    EXPECT_EQ(summary.max.count(), all.back());
    for (const auto& [rank, found] : {std::pair(499UL, summary.p50),
                                      std::pair(899UL, summary.p90),
                                      std::pair(989UL, summary.p99),
                                      std::pair(998UL, summary.p999)}) {
      EXPECT_GE(found.count(), all[rank]);
      EXPECT_LE(found.count(), all[rank] + all[rank] / 8 + 1);
    }
  }
}

TEST(LatencyHistogram, ExtremesCountToo) {
  LatencyHistogram histogram;
  histogram.record(nanoseconds(-5));  // a clock that went back
  histogram.record(std::chrono::hours(100));
  EXPECT_EQ(histogram.summary().count, 2U);
  EXPECT_EQ(histogram.summary().max, std::chrono::hours(100));
}

}  // namespace
}  // namespace stepwell::io
