#include <cstdio>
#include <cstring>

#include <gtest/gtest.h>

#include "src/device/device.h"

namespace stepwell::device {
namespace {

TEST(CudaDevice, IsThereOrSaysWhyNot) {
  const Result<std::unique_ptr<Device>> device = make_cuda_device(0);
  const std::string text = describe_cuda_devices();
  std::printf("CUDA devices: %s\n", text.c_str());
  if (device.ok()) {
    EXPECT_FALSE(device.value()->unified_memory());
    EXPECT_EQ(device.value()->name().find("cuda:0 ("), 0U);
    EXPECT_EQ(text.find("0: "), 0U);
  } else {
    EXPECT_EQ(device.status().code(), StatusCode::kUnsupported);
    EXPECT_EQ(device.status().message().find("CUDA device 0: "), 0U);
    // The same reason in both, and more than a bare "no".
    const std::string reason = device.status().message().substr(std::strlen("CUDA device 0: "));
    EXPECT_GT(reason.size(), 20U);
    EXPECT_EQ(text, "none found: " + reason);
  }
}

TEST(CudaDevice, AnIndexBeyondTheLastIsUnsupported) {
  for (const int index : {-1, 1000}) {
    const Result<std::unique_ptr<Device>> device = make_cuda_device(index);
    ASSERT_FALSE(device.ok());
    EXPECT_EQ(device.status().code(), StatusCode::kUnsupported);
  }
}

}  // namespace
}  // namespace stepwell::device
