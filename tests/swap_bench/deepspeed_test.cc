#include "tools/swap_bench/deepspeed.h"

#include <gtest/gtest.h>

#include "stepwell/bytes.h"

namespace stepwell::swap_bench {
namespace {

TEST(DsIo, ItsSpeedIsRead) {
  const auto rate = parse_ds_io(
      "Task Read Latency = 0.5 sec\nTask Read Speed = 2.0 GB/sec\n"
      "E2E Read Latency = 0.6 sec\nE2E Read Speed = 1.5 GB/sec\n");
  ASSERT_TRUE(rate.ok());
  EXPECT_DOUBLE_EQ(rate.value(), 1.5 * static_cast<double>(kGiB));
}

TEST(DsIo, OutputWithoutASpeedIsAnError) {
  EXPECT_FALSE(parse_ds_io("").ok());
  EXPECT_FALSE(parse_ds_io("E2E Read Speed = None GB/sec\n").ok());
}

}  // namespace
}  // namespace stepwell::swap_bench
