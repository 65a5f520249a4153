// On what a folder lies, so far as it decides whether a measurement means anything.
#pragma once

#include <string>

#include "stepwell/status.h"

namespace stepwell::swap_bench {

struct Filesystem {
  std::string name;  // "ext4", "tmpfs", "overlay on tmpfs", or the magic number in hexadecimal
  bool in_memory = false;
  std::string reason;  // of in_memory, or a doubt that remains; empty: none
};

/// Looks through overlays, loop devices and RAM disks as far as they can be seen from here.
/// kNotFound and the like when `folder` cannot be looked at; kInvalidArgument when it is no folder.
Result<Filesystem> filesystem_of(const std::string& folder);

namespace internal {
/// The value of `key` ("upperdir=") among the options of the mount at `mount_id` in the text of
/// /proc/self/mountinfo; empty when there is none.
std::string mount_option(const std::string& mountinfo, long mount_id, const std::string& key);
}  // namespace internal

}  // namespace stepwell::swap_bench
