#include "tools/swap_bench/run.h"

#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/format.h"
#include "tools/common/signals.h"
#include "tools/swap_bench/measure.h"
#include "tools/swap_bench/page_cache.h"
#include "tools/swap_bench/progress.h"
#include "tools/swap_bench/report.h"

namespace stepwell::swap_bench {
namespace {

std::chrono::nanoseconds duration_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

std::vector<Row> rows_of(const RunOptions& options) {
  std::vector<Row> rows;
  for (const io::EngineKind engine : options.engines) {
    for (const std::uint64_t block : options.block_sizes) {
      for (const std::uint32_t depth : options.queue_depths) {
        for (const std::uint32_t threads : options.thread_counts) {
          for (const Workload workload : options.workloads) {
            rows.push_back({.workload = workload, .setting = {engine, block, depth, threads}});
          }
        }
      }
    }
  }
  return rows;
}

void announce(const RunOptions& options, const std::vector<Row>& rows) {
  double writing_seconds = 0;
  for (const Row& row : rows) {
    writing_seconds += writes(row.workload) ? options.seconds : 0;
  }
  if (writing_seconds > 0) {
    note(
        fmt::format("will write for {:.3g} s as fast as the disk takes it (at 1 GiB/s that is "
                    "{:.3g} GiB): this wears flash",
                    writing_seconds,
                    writing_seconds));
  }
}

/// The rate of direct reads, where they are possible, to judge buffered ones by.
double direct_rate(const TestFiles& files, Buffers& buffers) {
  const Result<std::vector<io::VolumeMember>> members = files.open(/*direct=*/true);
  if (!members.ok() || !members.value()[0].file.direct()) {
    return 0;
  }
  const TestFiles direct = files.with_access(Access::kDirect);
  const Result<Measurement> measured =
      measure(direct, buffers, Workload::kRead, {}, {.duration = std::chrono::milliseconds(300)});
  return measured.ok() ? measured.value().read_rate() : 0;
}

Status judge(const TestFiles& files, Buffers& buffers, const Measurement& measured) {
  if (files.access() != Access::kBuffered || measured.workload != Workload::kRead) {
    return {};
  }
  return check_plausible(measured.read_rate(), direct_rate(files, buffers));
}

}  // namespace

int run_command(const RunOptions& options) {
  Progress progress;
  Buffers buffers;
  std::vector<Row> rows = rows_of(options);
  Result<TestFiles> files = TestFiles::create(options.files, buffers, progress);
  if (!files.ok()) {
    progress.clear();
    return report_failure(files.status());
  }
  announce(options, rows);
  std::uint64_t written = files.value().count() * options.files.size_bytes;
  Status failure;
  for (std::size_t index = 0; index < rows.size() && tools::stop_signal() == 0; ++index) {
    Row& row = rows[index];
    progress.show(fmt::format("[{}/{}] {}, {}",
                              index + 1,
                              rows.size(),
                              to_string(row.workload),
                              row.setting.to_string()));
    Result<Measurement> measured =
        measure(files.value(),
                buffers,
                row.workload,
                row.setting,
                {.duration = duration_of(options.seconds), .layer_bytes = options.layer_bytes});
    row.failure = measured.status();
    if (measured.ok()) {
      written += measured.value().write_bytes;
      row.failure = judge(files.value(), buffers, measured.value());
    }
    if (row.failure.ok()) {
      row.measured = std::move(measured).value();
    }
    failure = failure.ok() ? row.failure : failure;
  }
  progress.clear();
  if (tools::stop_signal() != 0) {
    return 128 + tools::stop_signal();
  }
  nlohmann::ordered_json json = {{"program", "swap-bench run"}};
  json.update(json_of(files.value()));
  json["bytes_written"] = written;
  json["results"] = json_of(rows);
  const std::string table = concat(table_of(rows),
                                   "access: ",
                                   to_string(files.value().access()),
                                   "; written: ",
                                   format_bytes(written),
                                   '\n');
  if (const Status printed = print_results(options.output, table, json); !printed.ok()) {
    return report_failure(printed);
  }
  return failure.ok() ? kExitOk : report_failure(failure);
}

}  // namespace stepwell::swap_bench
