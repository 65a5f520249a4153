#include "tools/swap_bench/setting.h"

#include <algorithm>

#include "src/base/format.h"
#include "stepwell/bytes.h"
#include "stepwell/check.h"
#include "tools/swap_bench/arguments.h"

namespace stepwell::swap_bench {

const char* to_string(Workload workload) {
  switch (workload) {
    case Workload::kRead:
      return "read";
    case Workload::kWrite:
      return "write";
    case Workload::kMixed:
      return "mixed";
    case Workload::kLayerWalk:
      return "layer-walk";
  }
  return "unknown";
}

std::uint64_t Setting::calls_in_flight() const {
  const std::uint64_t rings = engine == io::EngineKind::kThreads ? 1 : threads;
  return rings * queue_depth;
}

std::string Setting::to_string() const {
  return concat(io::to_string(engine),
                ", block ",
                format_size(block_bytes),
                ", depth ",
                queue_depth,
                ", threads ",
                threads);
}

double Measurement::cpu_seconds_per_gib() const {
  const auto bytes = static_cast<double>(read_bytes + write_bytes);
  return bytes > 0 ? cpu_seconds / (bytes / static_cast<double>(kGiB)) : 0;
}

double median(std::vector<double> values) {
  STEPWELL_CHECK(!values.empty(), "a median of nothing");
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace stepwell::swap_bench
