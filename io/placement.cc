#include "io/placement.h"

#include <algorithm>
#include <charconv>
#include <fstream>

#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "src/base/format.h"

namespace stepwell::io {
namespace {

/// Takes a number off the front of `text`; -1 when there is none.
int take_number(std::string_view& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) {
    return -1;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::string first_line(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

}  // namespace

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  const Status wrong(
      StatusCode::kInvalidArgument,
      concat("'", text, "' is no list of cores like 0-3,8, all below ", CPU_SETSIZE));
  std::vector<int> cpus;
  std::string_view rest = text;
  while (true) {
    const int first = take_number(rest);
    int last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = take_number(rest);
    }
    if (first < 0 || last < first || last >= CPU_SETSIZE) {
      return wrong;
    }
    for (int cpu = first; cpu <= last; ++cpu) {
      cpus.push_back(cpu);
    }
    if (rest.empty()) {
      break;
    }
    if (!rest.starts_with(',')) {
      return wrong;
    }
    rest.remove_prefix(1);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::vector<int> cpus_near(const std::string& path, const std::string& sysfs) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return {};
  }
  const std::string block =
      concat(sysfs, "/dev/block/", major(status.st_dev), ":", minor(status.st_dev));
  // A partition has its disk above it; an NVMe namespace its controller, whose device is the card.
  for (const char* device : {"/device", "/../device", "/device/device", "/../device/device"}) {
    const std::string node = first_line(concat(block, device, "/numa_node"));
    if (!node.empty() && node != "-1") {
      const Result<std::vector<int>> cpus =
          parse_cpu_list(first_line(concat(sysfs, "/devices/system/node/node", node, "/cpulist")));
      return cpus.ok() ? cpus.value() : std::vector<int>();
    }
  }
  return {};
}

Result<std::vector<int>> cpus_for(std::string_view text, const std::string& path) {
  if (text == "any") {
    return std::vector<int>();
  }
  return text == "near" ? Result<std::vector<int>>(cpus_near(path)) : parse_cpu_list(text);
}

}  // namespace stepwell::io
