// Block size against bandwidth, as text and as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepwell::swap_bench {

struct PlotPoint {
  std::uint64_t block_bytes = 0;
  double read = 0;   // bytes per second
  double write = 0;  // bytes per second
};

/// Two bars a block size: '=' read, '+' write. Points in the order given. Empty without points.
std::string text_plot(const std::vector<PlotPoint>& points);

/// A whole SVG document: block size on a logarithmic axis, rates from 0; a line for each direction.
std::string svg_plot(const std::vector<PlotPoint>& points);

}  // namespace stepwell::swap_bench
