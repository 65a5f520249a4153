// Counters that one thread writes and any thread reads, without locks: numbers and latency
// histograms.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace stepwell::io {

/// add() by one thread at a time; value() by any.
class Counter {
 public:
  void add(std::uint64_t amount = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

/// Percentiles are upper bounds of their bucket: at most 12.5 % too high, never too low.
struct LatencySummary {
  using Duration = std::chrono::nanoseconds;
  std::uint64_t count = 0;
  Duration mean{0};
  Duration p50{0};
  Duration p90{0};
  Duration p99{0};
  Duration p999{0};
  Duration max{0};
};

/// Buckets of a power of two, each split into eight: any duration from 1 ns to 2 hours in 328
/// counters (the layout of HdrHistogram with three bits of precision).
class LatencyHistogram {
 public:
  /// By one thread at a time. What is longer than the last bucket counts there.
  void record(std::chrono::nanoseconds duration);
  /// By any thread; recording may go on, what is recorded meanwhile may be missing.
  LatencySummary summary() const;

 private:
  static constexpr std::size_t kSplit = 8;
  static constexpr std::size_t kBuckets = 41 * kSplit;
  static std::size_t bucket_of(std::uint64_t nanoseconds);
  static std::uint64_t upper_bound_of(std::size_t bucket);

  std::array<Counter, kBuckets> buckets_;
  Counter total_nanoseconds_;
  std::atomic<std::uint64_t> max_nanoseconds_ = 0;
};

}  // namespace stepwell::io
