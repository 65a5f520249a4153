// `swap-bench verify`: does the disk give back what was written?
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "io/volume.h"
#include "stepwell/status.h"
#include "tools/swap_bench/buffers.h"
#include "tools/swap_bench/options.h"
#include "tools/swap_bench/test_files.h"

namespace stepwell::swap_bench {

struct VerifyPlan {
  io::EngineKind engine = io::EngineKind::kAuto;
  bool direct = true;
  std::uint32_t queue_depth = 32;
  std::uint32_t threads = 2;  // rings of each path
  std::uint64_t seed = 1;
  std::chrono::nanoseconds duration = std::chrono::seconds(10);
  /// Called when nothing is in flight, before everything is read back once more (tests).
  std::function<void(const io::Volume&)> before_last_reading;
};

struct VerifyResult {
  std::uint64_t written_bytes = 0;
  std::uint64_t checked_bytes = 0;
  std::uint64_t requests = 0;
};

/// Writes and reads pieces of random sizes at random offsets, many at a time and in any order,
/// never two with a byte in common, and sums up every 4 KiB block in memory; checks what is read
/// against the sums, at the end of all that was ever written. Unaligned pieces go through the page
/// cache even where direct I/O is on. kCorrupt at the first mismatch, with file, offset, expected
/// and found sum.
Result<VerifyResult> verify(const TestFiles& files, Buffers& buffers, const VerifyPlan& plan);

/// Verifies with every engine, direct (where possible) and buffered; prints and returns an exit
/// status.
int verify_command(const VerifyOptions& options);

}  // namespace stepwell::swap_bench
