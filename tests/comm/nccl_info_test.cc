#include "src/comm/nccl_info.h"

#include <cstdio>

#include <gtest/gtest.h>

namespace stepwell::comm {
namespace {

TEST(NcclInfo, GivesAVersionOrTheReason) {
  const std::string text = describe_nccl();
  std::printf("NCCL: %s\n", text.c_str());
  const bool has_version = text.find("built against") != std::string::npos;
  const bool has_reason = text.find("none: ") == 0;
  EXPECT_NE(has_version, has_reason) << text;
}

}  // namespace
}  // namespace stepwell::comm
