// What the command line of `swap-bench` says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepwell/bytes.h"
#include "stepwell/status.h"
#include "tools/swap_bench/setting.h"
#include "tools/swap_bench/test_files.h"

namespace stepwell::swap_bench {

/// Exit statuses of every command; a command ended by a signal gives 128 + its number.
enum ExitStatus : int {
  kExitOk = 0,
  kExitFailure = 1,  // something went wrong while running, or a result is refused
  kExitUsage = 2,    // wrong command line
};

/// Prints `status`, which is not ok, and gives the exit status for it. What a signal cancelled
/// needs no words.
int report_failure(const Status& status);

/// Where results go besides the table.
struct OutputOptions {
  bool json = false;  // JSON on standard output instead of the table
  std::string path;   // JSON into this file; empty: none
};

struct RunOptions {
  TestFilesOptions files;
  OutputOptions output;
  std::vector<Workload> workloads{kWorkloads.begin(), kWorkloads.end()};
  std::vector<io::EngineKind> engines{io::EngineKind::kAuto};
  std::vector<std::uint64_t> block_sizes{128 * kKiB, kMiB};
  std::vector<std::uint32_t> queue_depths{32};
  std::vector<std::uint32_t> thread_counts{1};
  double seconds = 2;  // of each measurement
  std::uint64_t layer_bytes = 64 * kMiB;
};

struct TuneOptions {
  TestFilesOptions files;
  std::vector<io::EngineKind> engines;  // empty: all that work here
  double seconds = 60;                  // in all
  std::string output_path;              // of the configuration; empty: standard output
  std::string plot_path;                // .svg; empty: none
};

struct FioOptions {
  TestFilesOptions files;
  OutputOptions output;
  std::vector<Workload> workloads{Workload::kRead, Workload::kWrite, Workload::kMixed};
  std::vector<std::uint64_t> block_sizes{128 * kKiB, kMiB, 8 * kMiB};
  std::uint32_t queue_depth = 32;
  std::uint32_t rounds = 3;
  double seconds = 1;  // of each run of each contender
  bool libaio = true;  // fio by libaio too
  bool deepspeed = false;
};

struct VerifyOptions {
  TestFilesOptions files;
  std::vector<io::EngineKind> engines{io::EngineKind::kAuto};
  double seconds = 10;
  std::uint64_t seed = 1;
  std::uint32_t queue_depth = 32;
  std::uint32_t threads = 2;
};

}  // namespace stepwell::swap_bench
