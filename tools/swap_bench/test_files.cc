#include "tools/swap_bench/test_files.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/placement.h"
#include "src/base/format.h"
#include "tools/swap_bench/load.h"
#include "tools/swap_bench/page_cache.h"
#include "tools/swap_bench/pattern.h"

namespace stepwell::swap_bench {
namespace {

constexpr std::uint64_t kFillBlockBytes = 4 * kMiB;
constexpr std::uint64_t kFillSlots = 8;  // of each file

std::string name_of(const std::string& folder, std::size_t index) {
  return concat(folder, "/swap-bench-", ::getpid(), '-', index, ".tmp");
}

/// Free bytes that stay for others.
std::uint64_t reserve_of(std::uint64_t needed_bytes) {
  return std::min(needed_bytes / 20, kGiB);
}

/// Folders on one file system share its room.
Status check_room(const TestFilesOptions& options) {
  std::map<dev_t, std::vector<std::string>> by_device;
  for (const std::string& folder : options.folders) {
    struct stat entry {};
    if (::stat(folder.c_str(), &entry) != 0) {
      return Status::from_errno(errno, "looking at " + folder);
    }
    by_device[entry.st_dev].push_back(folder);
  }
  for (const auto& [device, folders] : by_device) {
    const Result<std::uint64_t> free = io::free_bytes_at(folders[0]);
    STEPWELL_RETURN_IF_ERROR(free.status());
    const std::uint64_t needed = folders.size() * options.size_bytes;
    if (needed + reserve_of(needed) > free.value()) {
      return {StatusCode::kNoSpace,
              concat(folders[0],
                     ": ",
                     folders.size(),
                     " test file(s) of ",
                     format_bytes(options.size_bytes),
                     " and a reserve of ",
                     format_bytes(reserve_of(needed)),
                     " are needed, ",
                     format_bytes(free.value()),
                     " are free: pass a smaller --size or make room")};
    }
  }
  return {};
}

}  // namespace

const char* to_string(Access access) {
  switch (access) {
    case Access::kDirect:
      return "direct";
    case Access::kBuffered:
      return "buffered";
    case Access::kMemory:
      return "memory";
  }
  return "unknown";
}

TestFiles::OwnedFile::OwnedFile(OwnedFile&& other) noexcept
    : path(std::move(other.path)),
      owned(std::exchange(other.owned, false)),
      signal(std::move(other.signal)) {}

TestFiles::OwnedFile::~OwnedFile() {
  if (owned) {
    ::unlink(path.c_str());
  }
}

Result<TestFiles> TestFiles::create(const TestFilesOptions& options,
                                    Buffers& buffers,
                                    Progress& progress) {
  TestFiles made;
  made.options_ = options;
  STEPWELL_RETURN_IF_ERROR(made.inspect());
  note(concat("writes ",
              format_bytes(options.folders.size() * options.size_bytes),
              " to fill the test files"));
  STEPWELL_RETURN_IF_ERROR(made.make_files());
  STEPWELL_RETURN_IF_ERROR(made.fill(buffers, progress));
  return made;
}

Status TestFiles::inspect() {
  access_ = options_.buffered ? Access::kBuffered : Access::kDirect;
  for (const std::string& folder : options_.folders) {
    Result<Filesystem> found = filesystem_of(folder);
    STEPWELL_RETURN_IF_ERROR(found.status());
    if (found.value().in_memory) {
      if (!options_.allow_memory) {
        return {StatusCode::kUnsupported,
                concat(folder,
                       " is on ",
                       found.value().name,
                       ": ",
                       found.value().reason,
                       ", so a rate measured there says nothing about a disk; name a folder on the "
                       "disk, or pass --allow-memory to see the figures all the same")};
      }
      access_ = Access::kMemory;
    } else if (!found.value().reason.empty()) {
      warn(concat(folder, " is on ", found.value().name, ": ", found.value().reason));
    }
    filesystems_.push_back(std::move(found).value());
  }
  return check_room(options_);
}

Status TestFiles::make_files() {
  for (std::size_t index = 0; index < options_.folders.size(); ++index) {
    const std::string path = name_of(options_.folders[index], index);
    Result<io::File> file = io::File::open(path, {.create = true, .exclusive = true});
    STEPWELL_RETURN_IF_ERROR(file.status());
    files_.emplace_back(path, /*removed=*/true);
    if (access_ == Access::kDirect && !file.value().direct()) {
      return {
          StatusCode::kUnsupported,
          concat(options_.folders[index],
                 " (",
                 filesystems_[index].name,
                 "): no direct I/O: ",
                 file.value().direct_refusal(),
                 "; name another folder, or pass --buffered to measure through the page cache")};
    }
    STEPWELL_RETURN_IF_ERROR(file.value().preallocate(options_.size_bytes));
  }
  return {};
}

/// A preallocated file that was never written reads as zeros from nowhere.
Status TestFiles::fill(Buffers& buffers, Progress& progress) {
  progress.show(fmt::format("filling {} file(s) of {}", count(), format_bytes(size_bytes())));
  Result<std::vector<io::VolumeMember>> members = open(access_ == Access::kDirect);
  STEPWELL_RETURN_IF_ERROR(members.status());
  const std::uint64_t block = std::min(kFillBlockBytes, size_bytes());
  Result<std::unique_ptr<io::Volume>> volume =
      io::Volume::create(std::move(members).value(), {.block_bytes = block, .stripe_bytes = block});
  STEPWELL_RETURN_IF_ERROR(volume.status());
  const Result<std::span<std::byte>> memory = buffers.get(kFillSlots * count() * block);
  STEPWELL_RETURN_IF_ERROR(memory.status());
  const std::unique_ptr<Pattern> pattern = make_pattern({.workload = Workload::kWrite,
                                                         .volume_bytes = volume_bytes(block),
                                                         .block_bytes = block,
                                                         .once = true});
  const Result<LoadResult> load =
      run_load(*volume.value(),
               *pattern,
               memory.value(),
               {.duration = std::chrono::hours(24), .slot_bytes = block, .flush_at_end = true});
  STEPWELL_RETURN_IF_ERROR(load.status());
  // What a file has beyond the last whole block.
  const std::uint64_t rest = size_bytes() % block;
  for (std::uint32_t member = 0; rest > 0 && member < count(); ++member) {
    const int fd =
        volume.value()->file(member).fd_for(memory.value().data(), size_bytes() - rest, rest);
    if (::pwrite(fd, memory.value().data(), rest, static_cast<off_t>(size_bytes() - rest)) !=
        static_cast<ssize_t>(rest)) {
      return Status::from_errno(errno, "filling " + path(member));
    }
  }
  return tools::stop_signal() == 0
             ? Status()
             : Status(StatusCode::kCancelled, "ended while files were filled");
}

Result<std::vector<io::VolumeMember>> TestFiles::open(bool direct) const {
  std::vector<io::VolumeMember> members;
  for (const OwnedFile& file : files_) {
    Result<io::File> opened = io::File::open(file.path, {.direct = direct});
    STEPWELL_RETURN_IF_ERROR(opened.status());
    Result<std::vector<int>> cpus = io::cpus_for(options_.cpus, file.path);
    STEPWELL_RETURN_IF_ERROR(cpus.status());
    members.push_back({.file = std::move(opened).value(), .cpus = std::move(cpus).value()});
  }
  return members;
}

std::uint64_t TestFiles::volume_bytes(std::uint64_t stripe_bytes) const {
  // Equal weights: the stripes go round, one a file.
  return count() * align_down(size_bytes(), stripe_bytes);
}

TestFiles TestFiles::only(std::size_t index) const {
  TestFiles one;
  one.options_ = options_;
  one.options_.folders = {options_.folders[index]};
  one.filesystems_ = {filesystems_[index]};
  one.access_ = access_;
  one.files_.emplace_back(files_[index].path, /*removed=*/false);
  return one;
}

TestFiles TestFiles::with_access(Access access) const {
  TestFiles same;
  same.options_ = options_;
  same.filesystems_ = filesystems_;
  same.access_ = access;
  for (const OwnedFile& file : files_) {
    same.files_.emplace_back(file.path, /*removed=*/false);
  }
  return same;
}

}  // namespace stepwell::swap_bench
