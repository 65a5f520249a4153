#include "tools/swap_bench/plot.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepwell::swap_bench {
namespace {

using testing::HasSubstr;

const std::vector<PlotPoint> kPoints{{131072, 1e9, 5e8}, {1 << 20, 2e9, 1e9}};

TEST(Plot, BarsAreAsLongAsRates) {
  const std::string text = text_plot(kPoints);
  EXPECT_THAT(text, HasSubstr("  128K ========================= 954 MiB/s\n"));
  EXPECT_THAT(text, HasSubstr("    1M " + std::string(50, '=') + " 1.86 GiB/s\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '+'), 1 + 13 + 25) << text;
}

TEST(Plot, NothingToPlotIsNoPlot) {
  EXPECT_EQ(text_plot({}), "");
  EXPECT_THAT(svg_plot({}), HasSubstr("</svg>"));
}

TEST(Plot, TheSvgHasAPointForEachRate) {
  const std::string svg = svg_plot(kPoints);
  EXPECT_THAT(svg, testing::StartsWith("<svg xmlns="));
  EXPECT_THAT(svg, HasSubstr("read, block 1M: 1.86 GiB/s"));
  std::size_t circles = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos;
       at = svg.find("<circle", at + 1)) {
    ++circles;
  }
  EXPECT_EQ(circles, 4U);
  EXPECT_THAT(svg, testing::Not(HasSubstr("nan")));
}

TEST(Plot, OnePointLiesInTheMiddle) {
  EXPECT_THAT(svg_plot({{4096, 0, 0}}), HasSubstr("cx=\"320.0\""));
}

}  // namespace
}  // namespace stepwell::swap_bench
