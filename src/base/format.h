// Text for people: byte counts, rates, and concatenation without a formatting library. Usable from
// torch units, which must not include fmt (the torch wheel carries headers of another fmt release).
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

namespace stepwell {

/// "512 B", "1.5 KiB", "64 MiB", "1.20 GiB": three significant digits, binary units.
std::string format_bytes(std::uint64_t bytes);

/// format_bytes of a rate, with "/s".
std::string format_rate(double bytes_per_second);

/// Appends every argument through operator<< .
template <class... Args>
std::string concat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return std::move(out).str();
}

}  // namespace stepwell
