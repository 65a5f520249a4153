#include "src/base/format.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace stepwell {

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  if (unit == 0 || value == std::floor(value)) {
    return fmt::format("{:.0f} {}", value, kUnits[unit]);
  }
  const int decimals = value < 10.0 ? 2 : value < 100.0 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string format_rate(double bytes_per_second) {
  if (!std::isfinite(bytes_per_second) || bytes_per_second < 0) {
    return "-";
  }
  return format_bytes(static_cast<std::uint64_t>(bytes_per_second)) + "/s";
}

}  // namespace stepwell
