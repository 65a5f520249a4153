#include "tools/swap_bench/tune.h"

#include <gtest/gtest.h>

#include "stepwell/config.h"

namespace stepwell::swap_bench {
namespace {

TEST(Tune, WritesIntegersUnderTheNamesOfTheConfiguration) {
  const auto json = configuration_of(
      {.engine = io::EngineKind::kUring, .block_bytes = 1 << 20, .queue_depth = 16, .threads = 2},
      {{.path = "/disk", .rates = {.read = 1.5e9, .write = 999.6}}});
  EXPECT_EQ(json.dump(),
            R"({"aio":{"block_size":1048576,"queue_depth":16,"intra_op_parallelism":2},)"
            R"("stepwell":{"io":{"engine":"io_uring","devices":[{"path":"/disk",)"
            R"("read_bytes_per_second":1500000000,"write_bytes_per_second":1000}]}}})");
}

TEST(Tune, PlotsTheBestOfEachBlockSize) {
  const std::vector<Trial> trials{
      {.setting = {.block_bytes = 8192}, .samples = {{.read = 1, .write = 2}}},
      {.setting = {.block_bytes = 4096, .queue_depth = 1}, .samples = {{.read = 1, .write = 1}}},
      {.setting = {.block_bytes = 4096, .queue_depth = 8}, .samples = {{.read = 3, .write = 1}}},
      {.setting = {.block_bytes = 16384}, .failure = "no"}};
  const std::vector<PlotPoint> points = plot_points(trials);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].block_bytes, 4096U);
  EXPECT_EQ(points[0].read, 3);
  EXPECT_EQ(points[1].write, 2);
}

}  // namespace
}  // namespace stepwell::swap_bench
