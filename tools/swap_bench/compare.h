// `swap-bench fio`: our engine and fio side by side.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "stepwell/status.h"
#include "tools/swap_bench/buffers.h"
#include "tools/swap_bench/options.h"
#include "tools/swap_bench/test_files.h"

namespace stepwell::swap_bench {

/// Total rates (read and write, bytes per second) of one contender's runs.
struct Contender {
  std::string
      name;  // "stepwell", "fio io_uring", "fio io_uring, huge pages", "fio libaio", "ds_io"
  std::vector<double> rates;
  std::string failure;  // why there are none

  double median_rate() const { return rates.empty() ? 0 : median(rates); }
};

struct Comparison {
  Workload workload = Workload::kRead;
  std::uint64_t block_bytes = 0;
  std::uint32_t queue_depth = 0;
  Contender ours;
  std::vector<Contender> others;
  std::uint64_t written_bytes = 0;  // by us

  /// Ours over that of the best contender whose name begins with `prefix`; 0 when it has none.
  double ratio_to(const std::string& prefix) const;
};

struct CompareOptions {
  Workload workload = Workload::kRead;
  std::uint64_t block_bytes = 0;
  std::uint32_t queue_depth = 32;
  std::uint32_t rounds = 3;
  std::chrono::milliseconds duration{1000};  // of one run
  bool plain_pages = true;                   // fio as it comes, besides fio with huge pages
  bool libaio = true;
  bool deepspeed = false;
};

/// Runs the contenders in turns (A B C A B C ...) on the first file of `files`: direct, the same
/// file, block size, depth and pattern. A contender that fails is left out, and says why.
Result<Comparison> compare(const TestFiles& files, Buffers& buffers, const CompareOptions& options);

/// The depth, of `depths`, at which fio's io_uring is fastest, each tried once. Errors of fio.
Result<std::uint32_t> best_fio_depth(const TestFiles& files,
                                     const CompareOptions& options,
                                     const std::vector<std::uint32_t>& depths);

std::string table_of(const std::vector<Comparison>& comparisons);
nlohmann::ordered_json json_of(const std::vector<Comparison>& comparisons);

/// Compares, prints, and returns an exit status.
int fio_command(const FioOptions& options);

}  // namespace stepwell::swap_bench
