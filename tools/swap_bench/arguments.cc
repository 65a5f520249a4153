#include "tools/swap_bench/arguments.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "src/base/format.h"
#include "stepwell/bytes.h"

namespace stepwell::swap_bench {
namespace {

/// What direct I/O needs on every disk in use, and the bounds of the configuration's
/// aio.block_size.
constexpr std::uint64_t kBlockAlignment = 4 * kKiB;
constexpr std::uint64_t kBlockMax = kGiB;

Status wrong(std::string_view text, std::string_view wanted) {
  return {StatusCode::kInvalidArgument, concat("'", text, "' is no ", wanted)};
}

/// Bits of the unit `text` ("", "K", "KiB", ...), or -1.
int shift_of(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  if (text.empty()) {
    return 0;
  }
  std::string unit(text);
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  const std::size_t index = kUnits.find(unit[0]);
  const std::string rest = unit.substr(1);
  const bool known = index != std::string_view::npos && (rest.empty() || rest == "IB");
  return known ? static_cast<int>(index + 1) * 10 : -1;
}

/// Reads every item of `text` by `parse_item`.
template <class T, class ParseItem>
Result<std::vector<T>> parse_list(std::string_view text, const ParseItem& parse_item) {
  std::vector<T> values;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const Result<T> value = parse_item(text.substr(at, comma - at));
    STEPWELL_RETURN_IF_ERROR(value.status());
    if (std::find(values.begin(), values.end(), value.value()) == values.end()) {
      values.push_back(value.value());
    }
    at = comma + 1;
  }
  return values;
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view kWanted = "size like 131072, 128K, 1M or 2GiB";
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) {
    return wrong(text, kWanted);
  }
  const int shift = shift_of({parsed, static_cast<std::size_t>(end - parsed)});
  if (shift < 0 || value == 0 ||
      value > (static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) >> shift)) {
    return wrong(text, kWanted);
  }
  return value << shift;
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::string_view kUnits = "TGMK";
  for (std::size_t index = 0; index < kUnits.size(); ++index) {
    const std::uint64_t unit = std::uint64_t{1} << (40 - 10 * index);
    if (bytes >= unit && bytes % unit == 0) {
      return concat(bytes / unit, kUnits[index]);
    }
  }
  return concat(bytes);
}

Result<std::uint32_t> parse_count(std::string_view text, std::uint32_t most) {
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || parsed != end || value == 0 || value > most) {
    return wrong(text, concat("whole number from 1 to ", most));
  }
  return value;
}

Result<std::vector<std::uint64_t>> parse_block_sizes(std::string_view text) {
  return parse_list<std::uint64_t>(text, [](std::string_view item) -> Result<std::uint64_t> {
    Result<std::uint64_t> size = parse_size(item);
    if (size.ok() && (size.value() % kBlockAlignment != 0 || size.value() > kBlockMax)) {
      return wrong(item, "block size: a multiple of 4K up to 1G is needed");
    }
    return size;
  });
}

Result<std::vector<std::uint32_t>> parse_counts(std::string_view text, std::uint32_t most) {
  return parse_list<std::uint32_t>(
      text, [most](std::string_view item) { return parse_count(item, most); });
}

Result<std::vector<io::EngineKind>> parse_engines(std::string_view text) {
  return parse_list<io::EngineKind>(text, io::parse_engine_kind);
}

Result<std::vector<Workload>> parse_workloads(std::string_view text) {
  return parse_list<Workload>(text, [](std::string_view item) -> Result<Workload> {
    for (const Workload workload : kWorkloads) {
      if (item == to_string(workload)) {
        return workload;
      }
    }
    return wrong(item, "workload: read, write, mixed, layer-walk");
  });
}

}  // namespace stepwell::swap_bench
