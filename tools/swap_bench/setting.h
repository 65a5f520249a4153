// What is varied in a measurement, and what is measured.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "io/engine.h"
#include "io/loop.h"

namespace stepwell::swap_bench {

/// Read, write: in order over the whole file and again from its start. Mixed: either at random,
/// each in its own order, half of the requests each (as fio's rw=rw). Layer-walk: what training
/// does, see pattern.h.
enum class Workload : std::uint8_t { kRead, kWrite, kMixed, kLayerWalk };
inline constexpr std::array kWorkloads{
    Workload::kRead, Workload::kWrite, Workload::kMixed, Workload::kLayerWalk};
/// "read", "write", "mixed", "layer-walk".
const char* to_string(Workload workload);
/// True when it changes the file.
inline bool writes(Workload workload) {
  return workload != Workload::kRead;
}

struct Setting {
  io::EngineKind engine = io::EngineKind::kAuto;
  std::uint64_t block_bytes = std::uint64_t{1} << 20;  // of one call to the kernel
  std::uint32_t queue_depth = 32;                      // calls in flight, for every ring
  std::uint32_t threads = 1;  // rings of each path; of the thread engine: its threads

  bool operator==(const Setting&) const = default;
  /// Calls in flight on one path.
  std::uint64_t calls_in_flight() const;
  /// "io_uring, block 1M, depth 32, threads 1".
  std::string to_string() const;
};

struct Measurement {
  Workload workload = Workload::kRead;
  Setting setting;
  double seconds = 0;  // from the first request to the last completion
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
  double cpu_seconds = 0;           // user and system, of the process
  io::RequestStats read_requests;   // as the callers see them; percentiles of the slowest path
  io::RequestStats write_requests;  // the same
  io::DirectionStats read_calls;    // as the device answers
  io::DirectionStats write_calls;   // the same
  io::EngineReport engine;          // of the first path
  std::vector<std::string> complaints;
  bool stopped = false;  // ended early by a signal

  double read_rate() const { return rate(read_bytes); }    // bytes per second
  double write_rate() const { return rate(write_bytes); }  // bytes per second
  double total_rate() const { return rate(read_bytes + write_bytes); }
  double cpu_seconds_per_gib() const;

 private:
  double rate(std::uint64_t bytes) const {
    return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
  }
};

/// Bytes per second.
struct Rates {
  double read = 0;
  double write = 0;
  double total() const { return read + write; }
};

/// Of any numbers, at least one.
double median(std::vector<double> values);

}  // namespace stepwell::swap_bench
