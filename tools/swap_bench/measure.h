// One measurement: a workload under a setting.
#pragma once

#include <chrono>
#include <cstdint>

#include "stepwell/bytes.h"
#include "stepwell/status.h"
#include "tools/swap_bench/buffers.h"
#include "tools/swap_bench/setting.h"
#include "tools/swap_bench/test_files.h"

namespace stepwell::swap_bench {

struct MeasureOptions {
  std::chrono::nanoseconds duration = std::chrono::seconds(2);
  std::uint64_t layer_bytes = 64 * kMiB;  // of the layer walk
  std::uint64_t seed = 1;
};

/// Runs `workload` on `files`. Refused with a reason: a file smaller than a block or layer
/// (kInvalidArgument), buffers beyond the limit (kBudgetExceeded), an engine that does not work
/// here (kUnsupported), and results that came from memory (kCorrupt, see page_cache.h). Through the
/// page cache only kRead and kWrite can be measured (kInvalidArgument), one pass of reads at most.
Result<Measurement> measure(const TestFiles& files,
                            Buffers& buffers,
                            Workload workload,
                            const Setting& setting,
                            const MeasureOptions& options);

}  // namespace stepwell::swap_bench
