// On which cores I/O threads run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepwell/status.h"

namespace stepwell::io {

/// "0-3,8" as numbers, ascending. kInvalidArgument: anything else.
Result<std::vector<int>> parse_cpu_list(std::string_view text);

/// Cores of the NUMA node that the device under `path` hangs on; empty where the kernel names none
/// (one node, a virtual disk). `sysfs` is "/sys", or a copy of its shape in tests.
std::vector<int> cpus_near(const std::string& path, const std::string& sysfs = "/sys");

/// What a configuration names: "any" (empty), "near" (cpus_near(path)), or a list.
Result<std::vector<int>> cpus_for(std::string_view text, const std::string& path);

}  // namespace stepwell::io
