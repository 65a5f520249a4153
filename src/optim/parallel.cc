#include <algorithm>

#include "src/optim/kernels.h"
#include "stepwell/bytes.h"
#include "stepwell/check.h"

namespace stepwell::optim {

void parallel_ranges(std::uint64_t count,
                     std::uint64_t grain,
                     const void* context,
                     void (*function)(const void* context,
                                      std::uint64_t begin,
                                      std::uint64_t end)) {
  STEPWELL_CHECK(grain > 0, "a piece has at least one element");
  if (count <= grain) {
    if (count > 0) {
      function(context, 0, count);
    }
    return;
  }
  const std::uint64_t pieces = div_ceil(count, grain);
  // Without OpenMP the pragma is not there and the pieces run one after the other.
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    const std::uint64_t begin = piece * grain;
    function(context, begin, begin + std::min(grain, count - begin));
  }
}

}  // namespace stepwell::optim
