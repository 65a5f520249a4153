#include "tools/train/process.h"

#include <fstream>
#include <limits>

#include "stepwell/bytes.h"

namespace stepwell::train {

std::uint64_t proc_bytes(const std::string& file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string name; lines >> name;) {
    std::uint64_t kib = 0;
    if (name == key + ":" && lines >> kib) {
      return kib * kKiB;
    }
    lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

std::uint64_t peak_resident_bytes() {
  return proc_bytes("/proc/self/status", "VmHWM");
}

}  // namespace stepwell::train
