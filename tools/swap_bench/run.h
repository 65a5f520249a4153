// `swap-bench run`: every combination of workload and setting that was asked for.
#pragma once

#include "tools/swap_bench/options.h"

namespace stepwell::swap_bench {

/// Measures, prints, and returns an exit status.
int run_command(const RunOptions& options);

}  // namespace stepwell::swap_bench
