#include "tools/swap_bench/compare.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/format.h"
#include "tools/common/signals.h"
#include "tools/swap_bench/arguments.h"
#include "tools/swap_bench/deepspeed.h"
#include "tools/swap_bench/fio.h"
#include "tools/swap_bench/measure.h"
#include "tools/swap_bench/report.h"

namespace stepwell::swap_bench {
namespace {

using RunOnce = std::function<Result<double>()>;

FioJob job_of(const TestFiles& files, const CompareOptions& options, io::EngineKind engine) {
  return {.path = files.path(0),
          .size_bytes = align_down(files.size_bytes(), options.block_bytes),
          .workload = options.workload,
          .engine = engine,
          .block_bytes = options.block_bytes,
          .queue_depth = options.queue_depth,
          .registered = true,
          .duration = options.duration};
}

RunOnce fio_runner(const FioJob& job) {
  return [job]() -> Result<double> {
    const Result<Rates> rates = run_fio(job);
    STEPWELL_RETURN_IF_ERROR(rates.status());
    return rates.value().total();
  };
}

void run_once(Contender& contender, const RunOnce& run) {
  if (!contender.failure.empty()) {
    return;
  }
  const Result<double> rate = run();
  if (rate.ok()) {
    contender.rates.push_back(rate.value());
  } else {
    contender.failure = rate.status().message();
    contender.rates.clear();
  }
}

}  // namespace

double Comparison::ratio_to(const std::string& prefix) const {
  double best = 0;
  for (const Contender& other : others) {
    if (other.name.starts_with(prefix)) {
      best = std::max(best, other.median_rate());
    }
  }
  return best > 0 ? ours.median_rate() / best : 0;
}

Result<Comparison> compare(const TestFiles& files,
                           Buffers& buffers,
                           const CompareOptions& options) {
  Comparison result{.workload = options.workload,
                    .block_bytes = options.block_bytes,
                    .queue_depth = options.queue_depth,
                    .ours = {.name = "stepwell"}};
  const TestFiles file = files.only(0);
  const Setting setting{.engine = io::EngineKind::kAuto,
                        .block_bytes = options.block_bytes,
                        .queue_depth = options.queue_depth};
  std::vector<RunOnce> runners;
  const auto add = [&](const char* name, RunOnce runner) {
    result.others.push_back({.name = name});
    runners.push_back(std::move(runner));
  };
  FioJob huge = job_of(files, options, io::EngineKind::kUring);
  huge.huge_pages = true;
  add("fio io_uring, huge pages", fio_runner(huge));
  if (options.plain_pages) {
    add("fio io_uring", fio_runner(job_of(files, options, io::EngineKind::kUring)));
  }
  if (options.libaio) {
    add("fio libaio", fio_runner(job_of(files, options, io::EngineKind::kLibaio)));
  }
  if (options.deepspeed && options.workload != Workload::kMixed) {
    add("ds_io", [&]() -> Result<double> { return run_ds_io(files, options); });
  }
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    const Result<Measurement> measured =
        measure(file, buffers, options.workload, setting, {.duration = options.duration});
    STEPWELL_RETURN_IF_ERROR(measured.status());
    result.ours.rates.push_back(measured.value().total_rate());
    result.written_bytes += measured.value().write_bytes;
    for (std::size_t index = 0; index < runners.size(); ++index) {
      run_once(result.others[index], runners[index]);
    }
    if (tools::stop_signal() != 0) {
      return Status(StatusCode::kCancelled, "ended by a signal");
    }
  }
  return result;
}

Result<std::uint32_t> best_fio_depth(const TestFiles& files,
                                     const CompareOptions& options,
                                     const std::vector<std::uint32_t>& depths) {
  std::uint32_t best = depths.front();
  double best_rate = 0;
  for (const std::uint32_t depth : depths) {
    FioJob job = job_of(files, options, io::EngineKind::kUring);
    job.queue_depth = depth;
    job.huge_pages = true;
    const Result<Rates> rates = run_fio(job);
    STEPWELL_RETURN_IF_ERROR(rates.status());
    if (rates.value().total() > best_rate) {
      best_rate = rates.value().total();
      best = depth;
    }
  }
  return best;
}

std::string table_of(const std::vector<Comparison>& comparisons) {
  std::vector<std::vector<std::string>> rows{
      {"pattern", "contender", "block", "depth", "median", "least", "most", "stepwell / it"}};
  std::string failures;
  for (const Comparison& comparison : comparisons) {
    std::vector<Contender> all{comparison.ours};
    all.insert(all.end(), comparison.others.begin(), comparison.others.end());
    for (const Contender& one : all) {
      if (one.rates.empty()) {
        failures += concat(one.name, ": ", one.failure, '\n');
        continue;
      }
      const auto [least, most] = std::minmax_element(one.rates.begin(), one.rates.end());
      rows.push_back({to_string(comparison.workload),
                      one.name,
                      format_size(comparison.block_bytes),
                      concat(comparison.queue_depth),
                      format_rate(one.median_rate()),
                      format_rate(*least),
                      format_rate(*most),
                      fmt::format("{:.2f}", comparison.ours.median_rate() / one.median_rate())});
    }
  }
  return format_table(rows, 2) + failures;
}

nlohmann::ordered_json json_of(const std::vector<Comparison>& comparisons) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  const auto contender = [](const Contender& one) {
    nlohmann::ordered_json json = {{"name", one.name}, {"bytes_per_second", one.rates}};
    if (one.rates.empty()) {
      json["error"] = one.failure;
    } else {
      json["bytes_per_second_median"] = one.median_rate();
    }
    return json;
  };
  for (const Comparison& comparison : comparisons) {
    nlohmann::ordered_json json = {{"workload", to_string(comparison.workload)},
                                   {"block_size", comparison.block_bytes},
                                   {"queue_depth", comparison.queue_depth}};
    json["contenders"].push_back(contender(comparison.ours));
    for (const Contender& other : comparison.others) {
      json["contenders"].push_back(contender(other));
      if (!other.rates.empty()) {
        json["ratio"][other.name] = comparison.ours.median_rate() / other.median_rate();
      }
    }
    results.push_back(json);
  }
  return results;
}

int fio_command(const FioOptions& options) {
  if (const Status there = check_fio(); !there.ok()) {
    return report_failure(there);
  }
  if (options.deepspeed) {
    if (const Status there = check_ds_io(); !there.ok()) {
      note(there.message());
    }
  }
  Progress progress;
  Buffers buffers;
  const Result<TestFiles> files = TestFiles::create(options.files, buffers, progress);
  if (!files.ok()) {
    progress.clear();
    return report_failure(files.status());
  }
  std::vector<Comparison> comparisons;
  for (const Workload workload : options.workloads) {
    for (const std::uint64_t block : options.block_sizes) {
      progress.show(concat(to_string(workload), ", block ", format_size(block)));
      Result<Comparison> one = compare(
          files.value(),
          buffers,
          {.workload = workload,
           .block_bytes = block,
           .queue_depth = options.queue_depth,
           .rounds = options.rounds,
           .duration = std::chrono::milliseconds(static_cast<std::int64_t>(options.seconds * 1000)),
           .libaio = options.libaio,
           .deepspeed = options.deepspeed && check_ds_io().ok()});
      if (!one.ok()) {
        progress.clear();
        return tools::stop_signal() != 0 ? 128 + tools::stop_signal()
                                         : report_failure(one.status());
      }
      comparisons.push_back(std::move(one).value());
    }
  }
  progress.clear();
  nlohmann::ordered_json json = {{"program", "swap-bench fio"}};
  json.update(json_of(files.value()));
  json["results"] = json_of(comparisons);
  const Status printed = print_results(options.output, table_of(comparisons), json);
  if (!printed.ok()) {
    return report_failure(printed);
  }
  for (const Comparison& comparison : comparisons) {
    if (comparison.ratio_to("fio") <= 0) {
      return report_failure(
          {StatusCode::kUnsupported, "fio could not be compared with, see above"});
    }
  }
  return kExitOk;
}

}  // namespace stepwell::swap_bench
