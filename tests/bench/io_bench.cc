// Our engine against fio's io_uring at its best: the depth at which fio is fastest, registered
// files and buffers, buffers in huge pages. The same file, block size and pattern, in alternating
// runs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "stepwell/bytes.h"
#include "stepwell/log.h"
#include "tools/common/signals.h"
#include "tools/swap_bench/arguments.h"
#include "tools/swap_bench/compare.h"
#include "tools/swap_bench/fio.h"

namespace {

using namespace stepwell::swap_bench;  // NOLINT: it is what this program is about

constexpr const char* kUsage =
    "bench_io: our engine against fio, rates of reads, writes and half of each\n"
    "  --path DIR     folder on the disk to measure (default: the current one)\n"
    "  --size SIZE    of the test file (default 1G)\n"
    "  --rounds N     runs of each, in turns, of which medians are taken (default 5)\n"
    "  --seconds N    of each run (default 0.7)\n"
    "  --help         this text\n";

struct Options {
  std::string folder = ".";
  std::uint64_t size_bytes = stepwell::kGiB;
  std::uint32_t rounds = 5;
  double seconds = 0.7;
};

/// False when the arguments are wrong.
bool parse(int argc, char** argv, Options& options) {
  for (int index = 1; index < argc; index += 2) {
    const std::string name = argv[index];
    if (index + 1 == argc) {
      return false;
    }
    const std::string value = argv[index + 1];
    if (name == "--path") {
      options.folder = value;
    } else if (name == "--size") {
      const auto size = parse_size(value);
      options.size_bytes = size.ok() ? size.value() : 0;
    } else if (name == "--rounds") {
      const auto rounds = parse_count(value, 1000);
      options.rounds = rounds.ok() ? rounds.value() : 0;
    } else if (name == "--seconds") {
      options.seconds = std::strtod(value.c_str(), nullptr);
    } else {
      return false;
    }
  }
  return options.size_bytes >= 16 * stepwell::kMiB &&
         stepwell::is_aligned(options.size_bytes, 4 * stepwell::kKiB) && options.rounds > 0 &&
         options.seconds > 0 && options.seconds <= 600;
}

int fail(const stepwell::Status& status) {
  std::fprintf(stderr, "bench_io: %s\n", status.message().c_str());
  return 1;
}

/// One pattern at one block size.
stepwell::Result<Comparison> measure_one(const TestFiles& files,
                                         Buffers& buffers,
                                         const Options& options,
                                         Workload workload,
                                         std::uint64_t block) {
  CompareOptions compared{
      .workload = workload,
      .block_bytes = block,
      .rounds = options.rounds,
      .duration = std::chrono::milliseconds(static_cast<std::int64_t>(options.seconds * 1000)),
      .plain_pages = false};
  const auto depth = best_fio_depth(files, compared, {8, 32});
  STEPWELL_RETURN_IF_ERROR(depth.status());
  compared.queue_depth = depth.value();
  auto result = compare(files, buffers, compared);
  if (result.ok() && result.value().ratio_to("fio io_uring") <= 0) {
    return stepwell::Status(stepwell::StatusCode::kUnsupported,
                            "fio's io_uring: " + result.value().others[0].failure);
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  stepwell::tools::install_signal_handlers("\nswap-bench: ending; once more to end at once\n");
  if (const stepwell::Status there = check_fio(); !there.ok()) {
    return fail(there);
  }
  Progress progress;
  Buffers buffers;
  const auto files = TestFiles::create(
      {.folders = {options.folder}, .size_bytes = options.size_bytes}, buffers, progress);
  if (!files.ok()) {
    return fail(files.status());
  }
  std::vector<Comparison> comparisons;
  std::string ratios;
  for (const Workload workload : {Workload::kRead, Workload::kWrite, Workload::kMixed}) {
    double least = 0;
    for (const std::uint64_t block : {128 * stepwell::kKiB, stepwell::kMiB, 8 * stepwell::kMiB}) {
      progress.show(std::string(to_string(workload)) + ", block " + format_size(block));
      auto one = measure_one(files.value(), buffers, options, workload, block);
      if (!one.ok()) {
        progress.clear();
        return stepwell::tools::stop_signal() != 0 ? 128 + stepwell::tools::stop_signal()
                                                   : fail(one.status());
      }
      const double ratio = one.value().ratio_to("fio io_uring");
      least = least > 0 ? std::min(least, ratio) : ratio;
      comparisons.push_back(std::move(one).value());
    }
    char line[64];
    std::snprintf(line, sizeof line, "io-%s %.2f\n", to_string(workload), least);
    ratios += line;
  }
  progress.clear();
  std::fputs(table_of(comparisons).c_str(), stdout);
  std::fputs(ratios.c_str(), stdout);
  return 0;
}
