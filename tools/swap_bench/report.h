// Results as a table and as JSON.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "stepwell/status.h"
#include "tools/swap_bench/options.h"
#include "tools/swap_bench/setting.h"
#include "tools/swap_bench/test_files.h"

namespace stepwell::swap_bench {

/// A measurement, or why there is none.
struct Row {
  Workload workload = Workload::kRead;
  Setting setting;
  std::optional<Measurement> measured;
  Status failure;
};

/// "850 ns", "12.3 us", "4.56 ms", "1.20 s".
std::string format_duration(std::chrono::nanoseconds duration);

/// Columns as wide as their widest cell, the first `left` of them flush left. The first row is the
/// head.
std::string format_table(const std::vector<std::vector<std::string>>& rows, std::size_t left);

std::string table_of(const std::vector<Row>& rows);
nlohmann::ordered_json json_of(const Measurement& measured);
nlohmann::ordered_json json_of(const io::EngineReport& report);
nlohmann::ordered_json json_of(const TestFiles& files);
nlohmann::ordered_json json_of(const std::vector<Row>& rows);

/// Writes `text` into the file `path`; "-" is standard output.
Status write_text(const std::string& path, const std::string& text);

/// Prints `table`, or the JSON in its place, and writes the file, as `output` asks.
Status print_results(const OutputOptions& output,
                     const std::string& table,
                     const nlohmann::ordered_json& json);

}  // namespace stepwell::swap_bench
