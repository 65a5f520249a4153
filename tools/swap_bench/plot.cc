#include "tools/swap_bench/plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "src/base/format.h"
#include "stepwell/bytes.h"
#include "tools/swap_bench/arguments.h"

namespace stepwell::swap_bench {
namespace {

constexpr double kBarWidth = 50;

// The drawing area of the SVG, in its units.
constexpr double kLeft = 70;
constexpr double kTop = 30;
constexpr double kWidth = 500;
constexpr double kHeight = 260;

double largest_rate(const std::vector<PlotPoint>& points) {
  double largest = 1;
  for (const PlotPoint& point : points) {
    largest = std::max({largest, point.read, point.write});
  }
  return largest;
}

std::string bar(const std::string& label, char mark, double rate, double largest) {
  const auto length = static_cast<std::size_t>(std::lround(rate / largest * kBarWidth));
  return fmt::format("{:>6} {} {}\n", label, std::string(length, mark), format_rate(rate));
}

/// Where things lie in the SVG.
struct Scale {
  double first = 0;  // log2 of block sizes
  double last = 0;
  double largest = 1;

  double x(std::uint64_t block) const {
    const double span = last - first;
    const double share = span > 0 ? (std::log2(static_cast<double>(block)) - first) / span : 0.5;
    return kLeft + share * kWidth;
  }
  double y(double rate) const { return kTop + kHeight * (1 - rate / largest); }
};

std::string line(const std::vector<PlotPoint>& points,
                 const Scale& scale,
                 double PlotPoint::*rate,
                 const char* name,
                 const char* color) {
  std::string path;
  std::string marks;
  for (const PlotPoint& point : points) {
    const double x = scale.x(point.block_bytes);
    const double y = scale.y(point.*rate);
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x, y);
    marks += fmt::format(
        R"(<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"><title>{}, block {}: {}</title></circle>)"
        "\n",
        x,
        y,
        color,
        name,
        format_size(point.block_bytes),
        format_rate(point.*rate));
  }
  return fmt::format(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="2"/>)"
                     "\n{}",
                     path,
                     color,
                     marks);
}

}  // namespace

std::string text_plot(const std::vector<PlotPoint>& points) {
  if (points.empty()) {
    return {};
  }
  const double largest = largest_rate(points);
  std::string text = " block (= read, + write)\n";
  for (const PlotPoint& point : points) {
    text += bar(format_size(point.block_bytes), '=', point.read, largest);
    text += bar("", '+', point.write, largest);
  }
  return text;
}

std::string svg_plot(const std::vector<PlotPoint>& points) {
  std::string svg =
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 350" font-family="sans-serif" font-size="12">)"
      "\n<rect width=\"600\" height=\"350\" fill=\"white\"/>\n";
  Scale scale{.largest = largest_rate(points)};
  if (!points.empty()) {
    const auto [least, most] = std::minmax_element(
        points.begin(), points.end(), [](const PlotPoint& one, const PlotPoint& other) {
          return one.block_bytes < other.block_bytes;
        });
    scale.first = std::log2(static_cast<double>(least->block_bytes));
    scale.last = std::log2(static_cast<double>(most->block_bytes));
  }
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const double y = scale.y(share * scale.largest);
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        kLeft,
        y,
        kLeft + kWidth,
        kLeft - 6,
        y + 4,
        format_rate(share * scale.largest));
  }
  for (const PlotPoint& point : points) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       scale.x(point.block_bytes),
                       kTop + kHeight + 18,
                       format_size(point.block_bytes));
  }
  svg += line(points, scale, &PlotPoint::read, "read", "#1f77b4");
  svg += line(points, scale, &PlotPoint::write, "write", "#d62728");
  svg +=
      "<text x=\"320\" y=\"340\" text-anchor=\"middle\">block size</text>\n"
      "<text x=\"70\" y=\"18\" fill=\"#1f77b4\">read</text>"
      "<text x=\"110\" y=\"18\" fill=\"#d62728\">write</text>\n</svg>\n";
  return svg;
}

}  // namespace stepwell::swap_bench
