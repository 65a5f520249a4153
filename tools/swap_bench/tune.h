// `swap-bench tune`: the best setting for these disks, as a piece of a configuration.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/swap_bench/options.h"
#include "tools/swap_bench/plot.h"
#include "tools/swap_bench/tuner.h"

namespace stepwell::swap_bench {

/// What a folder reached alone under the best setting.
struct DeviceRates {
  std::string path;
  Rates rates;
};

/// {"aio": ..., "stepwell": {"io": ...}}, integers only.
nlohmann::ordered_json configuration_of(const Setting& best,
                                        const std::vector<DeviceRates>& devices);

/// For every block size the best that was reached with it, smallest first.
std::vector<PlotPoint> plot_points(const std::vector<Trial>& trials);

/// Tunes, prints, writes, and returns an exit status.
int tune_command(const TuneOptions& options);

}  // namespace stepwell::swap_bench
