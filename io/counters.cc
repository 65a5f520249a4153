#include "io/counters.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace stepwell::io {

std::size_t LatencyHistogram::bucket_of(std::uint64_t nanoseconds) {
  constexpr int kSplitBits = 3;
  static_assert(kSplit == 1U << kSplitBits);
  if (nanoseconds < kSplit) {
    return nanoseconds;
  }
  const int octave = static_cast<int>(std::bit_width(nanoseconds)) - 1 - kSplitBits;
  const std::uint64_t inside = (nanoseconds >> octave) - kSplit;
  return std::min((static_cast<std::size_t>(octave) + 1) * kSplit + inside, kBuckets - 1);
}

std::uint64_t LatencyHistogram::upper_bound_of(std::size_t bucket) {
  if (bucket < kSplit) {
    return bucket;
  }
  const std::size_t octave = bucket / kSplit - 1;
  return ((bucket % kSplit + kSplit + 1) << octave) - 1;
}

void LatencyHistogram::record(std::chrono::nanoseconds duration) {
  const auto nanoseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
  buckets_[bucket_of(nanoseconds)].add();
  total_nanoseconds_.add(nanoseconds);
  if (nanoseconds > max_nanoseconds_.load(std::memory_order_relaxed)) {
    max_nanoseconds_.store(nanoseconds, std::memory_order_relaxed);
  }
}

LatencySummary LatencyHistogram::summary() const {
  LatencySummary summary;
  std::array<std::uint64_t, kBuckets> counts{};
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    counts[bucket] = buckets_[bucket].value();
    summary.count += counts[bucket];
  }
  if (summary.count == 0) {
    return summary;
  }
  const std::uint64_t max = max_nanoseconds_.load(std::memory_order_relaxed);
  summary.max = LatencySummary::Duration(max);
  summary.mean = LatencySummary::Duration(total_nanoseconds_.value() / summary.count);
  const std::array<std::pair<double, LatencySummary::Duration*>, 4> wanted = {
      {{0.5, &summary.p50}, {0.9, &summary.p90}, {0.99, &summary.p99}, {0.999, &summary.p999}}};
  std::uint64_t seen = 0;
  std::size_t next = 0;
  for (std::size_t bucket = 0; bucket < kBuckets && next < wanted.size(); ++bucket) {
    seen += counts[bucket];
    while (next < wanted.size() &&
           static_cast<double>(seen) >= wanted[next].first * static_cast<double>(summary.count)) {
      *wanted[next++].second = LatencySummary::Duration(std::min(upper_bound_of(bucket), max));
    }
  }
  return summary;
}

}  // namespace stepwell::io
