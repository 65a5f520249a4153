// Stands in for cuda_device.cc in builds without the CUDA Toolkit.
#include "src/base/format.h"
#include "src/device/device.h"

namespace stepwell::device {
namespace {

constexpr const char* kReason =
    "this build has no CUDA support; configure with -DSTEPWELL_CUDA=ON where the CUDA Toolkit is";

}  // namespace

Result<std::unique_ptr<Device>> make_cuda_device(int index) {
  return Status(StatusCode::kUnsupported, concat("CUDA device ", index, ": ", kReason));
}

std::string describe_cuda_devices() {
  return concat("none found: ", kReason);
}

}  // namespace stepwell::device
