// Keeps a volume busy with the requests of a pattern.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "io/volume.h"
#include "stepwell/status.h"
#include "tools/swap_bench/pattern.h"

namespace stepwell::swap_bench {

struct LoadOptions {
  std::chrono::nanoseconds duration{0};  // no request starts later
  std::uint64_t slot_bytes = 0;          // of one request
  bool stamp_writes = true;              // see random_bytes.h
  bool flush_at_end = false;             // what was written is on the disk, and that is timed too
};

struct LoadResult {
  double seconds = 0;
  double cpu_seconds = 0;  // user and system, of the process
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
  bool stopped = false;  // ended early by a signal
};

/// Runs `pattern` with a request for each slot_bytes of `memory` in flight, until the time is over,
/// the pattern is, a signal asks to stop, or a request fails (its Status). Returns when nothing is
/// in flight. Not on an I/O thread.
Result<LoadResult> run_load(io::Volume& volume,
                            Pattern& pattern,
                            std::span<std::byte> memory,
                            const LoadOptions& options);

}  // namespace stepwell::swap_bench
