#include "src/data/windows.h"

#include "src/base/format.h"
#include "stepwell/check.h"

namespace stepwell::data {
namespace {

/// The finaliser of splitmix64: every bit of the result depends on every bit of `value`.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

/// Places where a window can begin.
std::uint64_t place_count(const WindowOptions& options) {
  STEPWELL_CHECK(options.window_bytes > 0 && options.window_bytes <= options.text_bytes,
                 concat("a window of ",
                        options.window_bytes,
                        " bytes does not fit into a text of ",
                        options.text_bytes));
  return options.text_bytes - options.window_bytes + 1;
}

}  // namespace

std::uint64_t random_at(std::uint64_t seed, std::uint64_t index) {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15U;
  return mix(mix(seed + kGoldenRatio) + (index + 1) * kGoldenRatio);
}

std::vector<std::uint64_t> random_windows(const WindowOptions& options,
                                          std::uint64_t seed,
                                          std::uint64_t batch) {
  const std::uint64_t places = place_count(options);
  std::vector<std::uint64_t> starts;
  starts.reserve(options.count);
  for (std::uint64_t window = 0; window < options.count; ++window) {
    // The remainder favours small places by less than places / 2^64.
    starts.push_back(random_at(seed, batch * options.count + window) % places);
  }
  return starts;
}

std::vector<std::uint64_t> even_windows(const WindowOptions& options) {
  const std::uint64_t last = place_count(options) - 1;
  const std::uint64_t gaps = options.count > 1 ? options.count - 1 : 1;
  std::vector<std::uint64_t> starts;
  starts.reserve(options.count);
  for (std::uint64_t window = 0; window < options.count; ++window) {
    starts.push_back(last / gaps * window + last % gaps * window / gaps);
  }
  return starts;
}

}  // namespace stepwell::data
