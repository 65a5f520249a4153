#include "tools/swap_bench/filesystem.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "src/base/format.h"

namespace stepwell::swap_bench {
namespace {

/// Mounts that lie on each other are followed this far.
constexpr int kLevelsMax = 4;

struct Known {
  std::uint32_t magic = 0;
  const char* name = "";
  bool in_memory = false;
};

constexpr std::array kKnown{Known{TMPFS_MAGIC, "tmpfs", true},
                            Known{RAMFS_MAGIC, "ramfs", true},
                            Known{HUGETLBFS_MAGIC, "hugetlbfs", true},
                            Known{EXT4_SUPER_MAGIC, "ext4"},
                            Known{XFS_SUPER_MAGIC, "xfs"},
                            Known{BTRFS_SUPER_MAGIC, "btrfs"},
                            Known{F2FS_SUPER_MAGIC, "f2fs"},
                            Known{NFS_SUPER_MAGIC, "nfs"},
                            Known{FUSE_SUPER_MAGIC, "fuse"},
                            Known{0x2fc12fc1, "zfs"},
                            Known{OVERLAYFS_SUPER_MAGIC, "overlay"}};

std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return std::move(text).str();
}

long mount_id_of(const std::string& folder) {
  struct statx status {};
  if (::statx(AT_FDCWD, folder.c_str(), 0, STATX_MNT_ID, &status) != 0 ||
      (status.stx_mask & STATX_MNT_ID) == 0) {
    return -1;
  }
  return static_cast<long>(status.stx_mnt_id);
}

/// The file behind a loop device, or the name of the block device `device`; empty when it has none.
std::string device_below(dev_t device) {
  const std::string link = concat("/sys/dev/block/", major(device), ':', minor(device));
  std::string backing = read_text(link + "/loop/backing_file");
  if (!backing.empty()) {
    return backing.substr(0, backing.find('\n'));
  }
  std::array<char, PATH_MAX> resolved{};
  if (::realpath(link.c_str(), resolved.data()) == nullptr) {
    return {};
  }
  const std::string path = resolved.data();
  return path.substr(path.rfind('/') + 1);
}

Result<Filesystem> look(const std::string& folder, int levels);

/// `above` lies on the folder `below`.
Filesystem stacked(Filesystem above, const std::string& below, int levels) {
  const Result<Filesystem> lower = look(below, levels - 1);
  if (!lower.ok()) {
    above.reason = concat("what lies below it (", below, ") cannot be seen from here");
    return above;
  }
  above.name += " on " + lower.value().name;
  above.in_memory = lower.value().in_memory;
  above.reason = lower.value().reason;
  return above;
}

Result<Filesystem> look(const std::string& folder, int levels) {
  struct statfs status {};
  if (::statfs(folder.c_str(), &status) != 0) {
    return Status::from_errno(errno, "looking at " + folder);
  }
  const auto magic = static_cast<std::uint32_t>(status.f_type);
  Filesystem found{.name = fmt::format("type {:#x}", magic)};
  for (const Known& known : kKnown) {
    if (known.magic == magic) {
      found.name = known.name;
      found.in_memory = known.in_memory;
    }
  }
  if (found.in_memory) {
    found.reason = concat(found.name, " lives in memory");
    return found;
  }
  if (levels == 0) {
    return found;
  }
  if (magic == OVERLAYFS_SUPER_MAGIC) {
    const std::string upper =
        internal::mount_option(read_text("/proc/self/mountinfo"), mount_id_of(folder), "upperdir=");
    return stacked(found, upper.empty() ? "its upper folder" : upper, levels);
  }
  struct stat entry {};
  if (::stat(folder.c_str(), &entry) != 0) {
    return Status::from_errno(errno, "looking at " + folder);
  }
  const std::string below = device_below(entry.st_dev);
  if (below.starts_with('/')) {
    return stacked(found, below, levels);
  }
  if (below.starts_with("ram") || below.starts_with("zram")) {
    found.name += " on " + below;
    found.in_memory = true;
    found.reason = concat("the block device ", below, " lives in memory");
  }
  return found;
}

}  // namespace

Result<Filesystem> filesystem_of(const std::string& folder) {
  struct stat entry {};
  if (::stat(folder.c_str(), &entry) != 0) {
    return Status::from_errno(errno, "looking at " + folder);
  }
  if (!S_ISDIR(entry.st_mode)) {
    return Status(StatusCode::kInvalidArgument, folder + " is no folder: name one on the disk");
  }
  return look(folder, kLevelsMax);
}

std::string internal::mount_option(const std::string& mountinfo,
                                   long mount_id,
                                   const std::string& key) {
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(concat(mount_id, ' '))) {
      continue;
    }
    const std::string options = line.substr(line.rfind(' ') + 1);
    std::istringstream list(options);
    for (std::string option; std::getline(list, option, ',');) {
      if (option.starts_with(key)) {
        return option.substr(key.size());
      }
    }
  }
  return {};
}

}  // namespace stepwell::swap_bench
