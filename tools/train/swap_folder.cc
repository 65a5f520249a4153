#include "tools/train/swap_folder.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "src/base/format.h"

namespace stepwell::train {
namespace fs = std::filesystem;

Result<SwapFolder> SwapFolder::prepare(const Config& config) {
  const ZeroConfig& zero = config.zero;
  std::string path;
  for (const OffloadConfig* offload : {&zero.offload_param, &zero.offload_optimizer}) {
    if (path.empty() && offload->device == OffloadDevice::kNvme) {
      path = offload->nvme_path;
    }
  }
  if (!path.empty() && !config.stepwell.io_devices.empty()) {
    SwapFolder devices("", false);
    for (const IoDeviceConfig& device : config.stepwell.io_devices) {
      devices.all_.push_back(device.path);
    }
    return devices;
  }
  std::error_code ignored;
  if (path.empty() || fs::exists(path, ignored)) {
    return SwapFolder(path, false);
  }
  // A trailing slash would make the last component empty.
  const fs::path folder =
      fs::path(path).has_filename() ? fs::path(path) : fs::path(path).parent_path();
  if (::mkdir(folder.c_str(), 0700) != 0) {
    const int error = errno;
    return Status::from_errno(error, concat("making the swap folder ", path))
        .with_context(error == ENOENT ? concat("its parent ",
                                               folder.parent_path().string(),
                                               " does not exist; create it or name another folder "
                                               "in nvme_path (or --nvme-path)")
                                      : std::string("name another folder in nvme_path (or "
                                                    "--nvme-path)"));
  }
  return SwapFolder(folder.string(), true);
}

SwapFolder::SwapFolder(SwapFolder&& other) noexcept
    : path_(std::move(other.path_)),
      made_(std::exchange(other.made_, false)),
      all_(std::move(other.all_)) {}

SwapFolder::~SwapFolder() {
  if (made_) {
    ::rmdir(path_.c_str());
  }
}

}  // namespace stepwell::train
