#include "tools/swap_bench/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepwell::swap_bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Arguments, ReadSizes) {
  EXPECT_EQ(parse_size("131072").value(), 131072U);
  EXPECT_EQ(parse_size("128K").value(), 131072U);
  EXPECT_EQ(parse_size("128kib").value(), 131072U);
  EXPECT_EQ(parse_size("1M").value(), 1U << 20);
  EXPECT_EQ(parse_size("2GiB").value(), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_size("1T").value(), std::uint64_t{1} << 40);
}

TEST(Arguments, RefuseWrongSizes) {
  for (const char* text : {"",
                           "K",
                           "0",
                           "-1",
                           "1.5M",
                           "1X",
                           "1MB",
                           "1 M",
                           "99999999999999999999",
                           "9223372036854775808",
                           "99999999T"}) {
    EXPECT_FALSE(parse_size(text).ok()) << text;
  }
  EXPECT_THAT(parse_size("1X").status().message(), HasSubstr("'1X' is no size like"));
}

TEST(Arguments, WriteSizesThatAreReadBack) {
  EXPECT_EQ(format_size(131072), "128K");
  EXPECT_EQ(format_size(1U << 20), "1M");
  EXPECT_EQ(format_size(1000), "1000");
  EXPECT_EQ(format_size(0), "0");
  for (const std::uint64_t size : {1U, 4096U, 12288U, 1U << 30}) {
    EXPECT_EQ(parse_size(format_size(size)).value(), size);
  }
}

TEST(Arguments, ReadLists) {
  EXPECT_THAT(parse_block_sizes("128K,1M,131072").value(), ElementsAre(131072U, 1U << 20));
  EXPECT_THAT(parse_counts("1,32", 64).value(), ElementsAre(1U, 32U));
  EXPECT_THAT(parse_engines("io_uring,threads").value(),
              ElementsAre(io::EngineKind::kUring, io::EngineKind::kThreads));
  EXPECT_THAT(parse_workloads("layer-walk,read").value(),
              ElementsAre(Workload::kLayerWalk, Workload::kRead));
}

TEST(Arguments, RefuseWrongLists) {
  for (const char* text : {"", "1M,", ",1M", "1M,,2M", "1000", "2G"}) {
    EXPECT_FALSE(parse_block_sizes(text).ok()) << text;
  }
  for (const char* text : {"", "0", "65", "-1", "4x", "1 "}) {
    EXPECT_FALSE(parse_counts(text, 64).ok()) << text;
  }
  EXPECT_THAT(parse_counts("65", 64).status().message(), HasSubstr("from 1 to 64"));
  EXPECT_THAT(parse_engines("uring").status().message(), HasSubstr("io_uring"));
  EXPECT_THAT(parse_workloads("writes").status().message(), HasSubstr("layer-walk"));
}

}  // namespace
}  // namespace stepwell::swap_bench
