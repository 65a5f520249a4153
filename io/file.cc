#include "io/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/format.h"
#include "stepwell/bytes.h"

namespace stepwell::io {
namespace {

/// What every disk in use accepts; used where the kernel does not say.
constexpr std::uint32_t kUsualAlignment = 4096;

/// Alignment of direct I/O as the kernel reports it (since Linux 6.1), by the raw call because C
/// libraries lag behind.
Alignment direct_alignment_of(int fd) {
#ifdef STATX_DIOALIGN
  struct statx status {};
  if (::syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0 && status.stx_dio_offset_align > 0) {
    return {.memory_bytes = status.stx_dio_mem_align, .offset_bytes = status.stx_dio_offset_align};
  }
#else
  (void)fd;
#endif
  return {.memory_bytes = kUsualAlignment, .offset_bytes = kUsualAlignment};
}

Status open_error(int os_error, const std::string& path, const FileOptions& options) {
  return Status::from_errno(os_error,
                            concat(options.create ? "creating " : "opening ",
                                   path,
                                   options.writable ? " for writing" : " for reading"));
}

}  // namespace

Result<File> File::open(const std::string& path, const FileOptions& options) {
  const int access = options.writable ? O_RDWR : O_RDONLY;
  const int creation =
      (options.create ? O_CREAT : 0) | (options.create && options.exclusive ? O_EXCL : 0);
  File file;
  file.path_ = path;
  file.buffered_fd_ = ::open(path.c_str(), access | creation | O_CLOEXEC, 0600);
  if (file.buffered_fd_ < 0) {
    return open_error(errno, path, options);
  }
  if (options.direct) {
    file.direct_fd_ = ::open(path.c_str(), access | O_DIRECT | O_CLOEXEC);
    if (file.direct_fd_ >= 0) {
      file.alignment_ = direct_alignment_of(file.direct_fd_);
    } else {
      file.direct_refusal_ = concat("the file system refuses O_DIRECT: ", std::strerror(errno));
    }
  }
  return file;
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)),
      direct_fd_(std::exchange(other.direct_fd_, -1)),
      buffered_fd_(std::exchange(other.buffered_fd_, -1)),
      alignment_(other.alignment_),
      direct_refusal_(std::move(other.direct_refusal_)) {}

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    close_all();
    path_ = std::move(other.path_);
    direct_fd_ = std::exchange(other.direct_fd_, -1);
    buffered_fd_ = std::exchange(other.buffered_fd_, -1);
    alignment_ = other.alignment_;
    direct_refusal_ = std::move(other.direct_refusal_);
  }
  return *this;
}

File::~File() {
  close_all();
}

void File::close_all() noexcept {
  for (int* fd : {&direct_fd_, &buffered_fd_}) {
    if (*fd >= 0) {
      ::close(*fd);
      *fd = -1;
    }
  }
}

int File::fd_for(const void* data, std::uint64_t offset, std::uint64_t size_bytes) const {
  // Not finer than a page, whatever the device allows: a page of which one part is written directly
  // and another through the page cache at the same time loses one of them.
  constexpr std::uint64_t kPageBytes = 4096;
  const std::uint64_t unit = std::max<std::uint64_t>(alignment_.offset_bytes, kPageBytes);
  const bool aligned =
      is_aligned(reinterpret_cast<std::uintptr_t>(data), alignment_.memory_bytes) &&
      is_aligned(offset, unit) && is_aligned(size_bytes, unit);
  return direct() && aligned ? direct_fd_ : buffered_fd_;
}

Result<std::uint64_t> File::size_bytes() const {
  struct stat status {};
  if (::fstat(buffered_fd_, &status) != 0) {
    return Status::from_errno(errno, "size of " + path_);
  }
  return static_cast<std::uint64_t>(status.st_size);
}

Status File::preallocate(std::uint64_t wanted_bytes) {
  const Result<std::uint64_t> before = size_bytes();
  STEPWELL_RETURN_IF_ERROR(before.status());
  if (before.value() >= wanted_bytes) {
    return {};
  }
  const auto length = static_cast<off_t>(wanted_bytes - before.value());
  const int failed = ::posix_fallocate(buffered_fd_, static_cast<off_t>(before.value()), length);
  if (failed == 0) {
    return {};
  }
  const Result<std::uint64_t> free = free_bytes_at(path_);
  // What was allocated before the failure is given back, so that the message describes a disk
  // without it.
  const bool restored = ::ftruncate(buffered_fd_, static_cast<off_t>(before.value())) == 0;
  return Status::from_errno(failed,
                            concat("reserving ",
                                   format_bytes(static_cast<std::uint64_t>(length)),
                                   " more for ",
                                   path_,
                                   " (",
                                   format_bytes(wanted_bytes),
                                   " in all, ",
                                   free.ok() ? format_bytes(free.value()) : std::string("unknown"),
                                   " free",
                                   restored ? "" : ", and shrinking it again failed",
                                   ")"));
}

Result<std::uint64_t> free_bytes_at(const std::string& path) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) {
    return Status::from_errno(errno, "free space at " + path);
  }
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

}  // namespace stepwell::io
