// Values of the command line: sizes, numbers, and lists of them. Each error says what was given and
// what is possible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/engine.h"
#include "stepwell/status.h"
#include "tools/swap_bench/setting.h"

namespace stepwell::swap_bench {

/// "131072", "128K", "128KiB", "1M", "2GiB": binary units, any case. kInvalidArgument otherwise,
/// for 0 and beyond 2^63.
Result<std::uint64_t> parse_size(std::string_view text);
/// The shortest text that parse_size() reads back: "128K", "1M", "1000".
std::string format_size(std::uint64_t bytes);

/// A whole number from 1 to `most`.
Result<std::uint32_t> parse_count(std::string_view text, std::uint32_t most);

/// Comma-separated values, in the order given and without repetitions. kInvalidArgument: an empty
/// list or item, an item that is wrong.
Result<std::vector<std::uint64_t>> parse_block_sizes(std::string_view text);
Result<std::vector<std::uint32_t>> parse_counts(std::string_view text, std::uint32_t most);
Result<std::vector<io::EngineKind>> parse_engines(std::string_view text);
Result<std::vector<Workload>> parse_workloads(std::string_view text);

}  // namespace stepwell::swap_bench
