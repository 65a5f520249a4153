// A file system mounted on a folder for the time of a test.
#pragma once

#include <string>

#include <sys/mount.h>

namespace stepwell::test {

/// One in memory of a given size, mostly: type "tmpfs", options "size=16m". mounted() is false
/// where mounting is not permitted.
class SmallDisk {
 public:
  SmallDisk(std::string at, const char* type, const char* options, unsigned long flags = 0)
      : at_(std::move(at)), mounted_(::mount("none", at_.c_str(), type, flags, options) == 0) {}
  ~SmallDisk() {
    if (mounted_) {
      ::umount2(at_.c_str(), MNT_DETACH);
    }
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  std::string at_;
  bool mounted_;
};

}  // namespace stepwell::test
