#include "tools/swap_bench/report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include "src/base/format.h"
#include "tools/common/signals.h"
#include "tools/swap_bench/arguments.h"

namespace stepwell::swap_bench {
namespace {

using nlohmann::ordered_json;

std::string percentiles(const io::LatencySummary& latency) {
  if (latency.count == 0) {
    return "-";
  }
  return concat(format_duration(latency.p50),
                " / ",
                format_duration(latency.p99),
                " / ",
                format_duration(latency.p999));
}

ordered_json json_of(const io::LatencySummary& latency) {
  return {{"count", latency.count},
          {"mean_ns", latency.mean.count()},
          {"p50_ns", latency.p50.count()},
          {"p99_ns", latency.p99.count()},
          {"p999_ns", latency.p999.count()},
          {"max_ns", latency.max.count()}};
}

ordered_json json_of(const Setting& setting) {
  return {{"engine", to_string(setting.engine)},
          {"block_size", setting.block_bytes},
          {"queue_depth", setting.queue_depth},
          {"threads", setting.threads}};
}

std::vector<std::string> cells_of(const Row& row) {
  std::vector<std::string> cells{to_string(row.workload),
                                 to_string(row.setting.engine),
                                 format_size(row.setting.block_bytes),
                                 concat(row.setting.queue_depth),
                                 concat(row.setting.threads)};
  if (!row.measured) {
    cells.push_back("not measured");
    cells.resize(10, "-");
    return cells;
  }
  const Measurement& measured = *row.measured;
  cells[1] = to_string(measured.engine.effective);
  const auto rate = [](double value) { return value > 0 ? format_rate(value) : std::string("-"); };
  cells.push_back(rate(measured.read_rate()));
  cells.push_back(rate(measured.write_rate()));
  cells.push_back(fmt::format("{:.3f}", measured.cpu_seconds_per_gib()));
  cells.push_back(percentiles(measured.read_calls.latency));
  cells.push_back(percentiles(measured.write_calls.latency));
  return cells;
}

/// The same lines for many settings are said once.
void add_once(std::vector<std::string>& lines, const std::string& line) {
  if (std::find(lines.begin(), lines.end(), line) == lines.end()) {
    lines.push_back(line);
  }
}

}  // namespace

int report_failure(const Status& status) {
  if (status.code() == StatusCode::kCancelled && tools::stop_signal() != 0) {
    return 128 + tools::stop_signal();
  }
  std::fputs(concat("swap-bench: ", status.message(), '\n').c_str(), stderr);
  return status.code() == StatusCode::kInvalidArgument ? kExitUsage : kExitFailure;
}

std::string format_duration(std::chrono::nanoseconds duration) {
  constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  auto value = static_cast<double>(duration.count());
  std::size_t unit = 0;
  while (value >= 999.5 && unit < 3) {
    value /= 1000;
    ++unit;
  }
  const int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, digits, kUnits[unit]);
}

std::string format_table(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t index = 0; index < row.size(); ++index) {
      widths[index] = std::max(widths[index], row[index].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t index = 0; index < row.size(); ++index) {
      line += index == 0 ? "" : "  ";
      line += index < left ? fmt::format("{:<{}}", row[index], widths[index])
                           : fmt::format("{:>{}}", row[index], widths[index]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

std::string table_of(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells{{"workload",
                                               "engine",
                                               "block",
                                               "depth",
                                               "threads",
                                               "read",
                                               "write",
                                               "CPU s/GiB",
                                               "read p50 / p99 / p99.9",
                                               "write p50 / p99 / p99.9"}};
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    cells.push_back(cells_of(row));
    if (!row.measured) {
      add_once(lines, concat("not measured: ", row.failure.message()));
      continue;
    }
    add_once(lines, concat("engine: ", row.measured->engine.to_string()));
    for (const std::string& complaint : row.measured->complaints) {
      add_once(lines, concat("complaint: ", complaint));
    }
  }
  std::string text = format_table(cells, 2);
  text +=
      "latencies are those of the device, call by call; of requests, waiting included: --json\n";
  for (const std::string& line : lines) {
    text += line + '\n';
  }
  return text;
}

ordered_json json_of(const io::EngineReport& report) {
  return {{"requested", to_string(report.requested)},
          {"effective", to_string(report.effective)},
          {"queue_depth", report.queue_depth},
          {"features", report.features},
          {"refusals", report.refusals}};
}

ordered_json json_of(const Measurement& measured) {
  const auto latency = [](const io::RequestStats& requests, const io::DirectionStats& calls) {
    return ordered_json{{"request", json_of(requests.latency)}, {"device", json_of(calls.latency)}};
  };
  ordered_json json = {{"workload", to_string(measured.workload)}};
  json.update(json_of(measured.setting));
  json["seconds"] = measured.seconds;
  json["read_bytes"] = measured.read_bytes;
  json["write_bytes"] = measured.write_bytes;
  json["read_bytes_per_second"] = measured.read_rate();
  json["write_bytes_per_second"] = measured.write_rate();
  json["bytes_per_second"] = measured.total_rate();
  json["cpu_seconds_per_gib"] = measured.cpu_seconds_per_gib();
  json["latency"] = {{"read", latency(measured.read_requests, measured.read_calls)},
                     {"write", latency(measured.write_requests, measured.write_calls)}};
  json["engine_report"] = json_of(measured.engine);
  json["complaints"] = measured.complaints;
  return json;
}

ordered_json json_of(const TestFiles& files) {
  ordered_json paths = ordered_json::array();
  for (std::size_t index = 0; index < files.count(); ++index) {
    paths.push_back({{"path", files.folders()[index]},
                     {"filesystem", files.filesystems()[index].name},
                     {"size_bytes", files.size_bytes()}});
  }
  return {{"access", to_string(files.access())}, {"paths", paths}};
}

ordered_json json_of(const std::vector<Row>& rows) {
  ordered_json results = ordered_json::array();
  for (const Row& row : rows) {
    if (row.measured) {
      results.push_back(json_of(*row.measured));
      continue;
    }
    ordered_json failed = {{"workload", to_string(row.workload)}};
    failed.update(json_of(row.setting));
    failed["error"] = row.failure.message();
    results.push_back(failed);
  }
  return results;
}

Status write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return written ? Status() : Status::from_errno(errno, "writing to standard output");
  }
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  return file ? Status() : Status::from_errno(errno != 0 ? errno : EIO, "writing " + path);
}

Status print_results(const OutputOptions& output,
                     const std::string& table,
                     const ordered_json& json) {
  const std::string text = json.dump(2) + '\n';
  if (!output.path.empty()) {
    STEPWELL_RETURN_IF_ERROR(write_text(output.path, text));
  }
  return write_text("-", output.json ? text : table);
}

}  // namespace stepwell::swap_bench
