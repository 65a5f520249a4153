// One run of the program fio.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "stepwell/status.h"
#include "tools/swap_bench/setting.h"

namespace stepwell::swap_bench {

/// kNotFound, with the cure, when fio is not installed.
Status check_fio();

struct FioJob {
  std::string path;  // of a file that exists
  std::uint64_t size_bytes = 0;
  Workload workload = Workload::kRead;             // kRead, kWrite, kMixed
  io::EngineKind engine = io::EngineKind::kUring;  // or kLibaio
  std::uint64_t block_bytes = 0;
  std::uint32_t queue_depth = 32;
  bool registered = false;  // io_uring: registered files and buffers, as our engine has them
  /// Buffers in huge pages, as our engine has them (by glibc's tunable, from 2.35 on): the fewer
  /// pieces a request has in memory, the faster many a disk, and above all a virtual one, takes it.
  bool huge_pages = false;
  std::chrono::milliseconds duration{1000};
};

/// The command line for `job`: direct, in order, one process, the same file.
std::vector<std::string> fio_arguments(const FioJob& job);
/// From fio's --output-format=json. kCorrupt when it is not that.
Result<Rates> parse_fio(const std::string& output);
/// Errors of fio carry what it said.
Result<Rates> run_fio(const FioJob& job);

}  // namespace stepwell::swap_bench
