// Finds a good setting in little time, whatever it is that measures. Nothing here touches a disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stepwell/bytes.h"
#include "stepwell/status.h"
#include "tools/swap_bench/setting.h"

namespace stepwell::swap_bench {

struct TunerOptions {
  std::vector<io::EngineKind> engines{io::EngineKind::kUring};  // at least one
  std::chrono::nanoseconds budget = std::chrono::seconds(60);
  /// Where the search starts; it goes on from the best by factors of two, within the bounds.
  std::vector<std::uint64_t> block_sizes{128 * kKiB, kMiB, 8 * kMiB};
  std::vector<std::uint32_t> queue_depths{8, 32};
  std::uint64_t block_bytes_min = 64 * kKiB;
  std::uint64_t block_bytes_max = 32 * kMiB;
  std::uint32_t queue_depth_max = 256;
  std::uint32_t threads_max = 8;
  /// Most bytes in flight on a path.
  std::uint64_t in_flight_bytes_max = 512 * kMiB;
};

/// All that is known of one setting.
struct Trial {
  Setting setting;
  std::vector<Rates> samples;  // one a slice
  std::string failure;         // it cannot be measured

  /// Medians of the samples.
  double read_rate() const;
  double write_rate() const;
  /// The objective: median of read rate + write rate; 0 without samples.
  double score() const;
  /// Largest read + write rate of a sample; 0 without samples.
  double best_slice() const;
};

struct Tuned {
  Setting best;
  std::vector<Trial> trials;  // in the order of their first slice
  bool out_of_time = false;   // the search was cut short: better settings may exist
  bool settled = false;       // no neighbour of the best is better

  const Trial& best_trial() const;
};

/// Measures reads and writes under a setting for a short slice.
using MeasureSlice = std::function<Result<Rates>(const Setting&)>;
/// Time since any fixed moment.
using Clock = std::function<std::chrono::nanoseconds()>;

/// Successive narrowing: settings race in interleaved slices, so that a disk that slows down slows
/// down all of them; after each round those clearly behind drop out. Then the neighbours of the
/// best race against it, until none is better by 2 %. Of settings within 2 % of the best the one
/// with the fewest bytes in flight and threads wins, then the first in the order of kAuto. No slice
/// starts that would not end within the budget.
///
/// kCancelled from a slice ends the search with it; other failures drop the setting. When nothing
/// can be measured: the first failure.
Result<Tuned> tune(const TunerOptions& options, const MeasureSlice& measure, const Clock& now);

}  // namespace stepwell::swap_bench
