#include "swap/swap_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/format.h"
#include "stepwell/log.h"

namespace stepwell::swap {
namespace fs = std::filesystem;
namespace {

// Note [Live and dead files]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~
// A file's owner holds an flock on it for as long as it lives; the kernel drops the lock when the
// process dies, however it dies. A file whose lock is free therefore belongs to nobody. Between
// creating a file and locking it there is a moment in which it looks dead, so creating and
// reclaiming are done under a lock of the folder itself.

/// Exclusive lock of a folder for the length of a scope.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  /// Others hold it only while they look through the folder: whoever holds it for longer is stuck
  /// or no process of ours.
  Status acquire(const std::string& folder) const {
    constexpr auto kPatience = std::chrono::seconds(5);
    constexpr auto kPause = std::chrono::milliseconds(5);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (fd_ >= 0 && ::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK && std::chrono::steady_clock::now() > end) {
        return {StatusCode::kTimedOut,
                concat("another process has held the lock of the swap folder ",
                       folder,
                       " for ",
                       kPatience.count(),
                       " s; end it (lslocks names it) or name another folder in nvme_path")};
      }
      if (errno != EWOULDBLOCK && errno != EINTR) {
        return Status::from_errno(errno, "locking the swap folder " + folder);
      }
      std::this_thread::sleep_for(kPause);
    }
    return {};
  }
  ~FolderLock() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

/// stepwell-<process>-<rank>-<number>.swap
bool is_swap_name(std::string_view name) {
  constexpr std::string_view kPrefix = "stepwell";
  constexpr std::string_view kSuffix = ".swap";
  constexpr int kNumbers = 3;
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) {
    return false;
  }
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(std::min(kSuffix.size(), name.size()));
  for (int number = 0; number < kNumbers; ++number) {
    const std::size_t end = std::min(name.find_first_not_of("0123456789", 1), name.size());
    if (!name.starts_with('-') || end < 2) {
      return false;
    }
    name.remove_prefix(end);
  }
  return name.empty();
}

bool is_swap_file(const fs::directory_entry& entry) {
  std::error_code error;
  return entry.symlink_status(error).type() == fs::file_type::regular &&
         is_swap_name(entry.path().filename().string());
}

/// Files that this process has made so far.
std::atomic<std::uint64_t> files_made{0};

std::string path_of(const std::string& folder, int rank, std::uint64_t number) {
  return concat(folder, "/stepwell-", ::getpid(), "-", rank, "-", number, ".swap");
}

Status check_folder(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    return Status::from_errno(errno, concat("swap folder ", folder))
        .with_context("create it or name another one in nvme_path");
  }
  if (!S_ISDIR(status.st_mode)) {
    return {StatusCode::kInvalidArgument,
            concat("swap folder ", folder, " is not a folder; name another one in nvme_path")};
  }
  return {};
}

std::size_t reclaim_locked(const std::string& folder) {
  std::size_t removed = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!is_swap_file(entry)) {
      continue;
    }
    const int fd = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) {
      continue;
    }
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
      const std::uint64_t bytes = entry.file_size(error);
      if (::unlink(entry.path().c_str()) == 0) {
        ++removed;
        log_info(concat("removed ",
                        entry.path().string(),
                        " (",
                        format_bytes(bytes),
                        "), left behind by a run that did not end cleanly"));
      }
    }
    ::close(fd);
  }
  return removed;
}

}  // namespace

std::size_t reclaim_dead_files(const std::string& folder) {
  const FolderLock lock(folder);
  return lock.acquire(folder).ok() ? reclaim_locked(folder) : 0;
}

Result<SwapFile> SwapFile::create(const std::string& folder, int rank, bool direct) {
  STEPWELL_RETURN_IF_ERROR(check_folder(folder));
  const FolderLock folder_lock(folder);
  STEPWELL_RETURN_IF_ERROR(folder_lock.acquire(folder));
  reclaim_locked(folder);
  const std::string path = path_of(folder, rank, ++files_made);
  Result<io::File> file =
      io::File::open(path, {.create = true, .exclusive = true, .writable = true, .direct = direct});
  if (!file.ok()) {
    return file.status().with_context(
        concat("swap folder ", folder, " cannot be used; name a writable one in nvme_path"));
  }
  const int lock_fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (lock_fd < 0 || ::flock(lock_fd, LOCK_EX | LOCK_NB) != 0) {
    const Status status = Status::from_errno(errno, concat("locking ", path));
    ::unlink(path.c_str());
    if (lock_fd >= 0) {
      ::close(lock_fd);
    }
    return status;
  }
  return SwapFile(std::move(file).value(), lock_fd);
}

std::vector<std::string> next_swap_files(const std::vector<std::string>& folders, int rank) {
  std::vector<std::string> paths;
  for (const std::string& folder : folders) {
    paths.push_back(path_of(folder, rank, files_made + paths.size() + 1));
  }
  return paths;
}

SwapFile::SwapFile(SwapFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      lock_fd_(std::exchange(other.lock_fd_, -1)) {}

SwapFile::~SwapFile() {
  if (lock_fd_ >= 0) {
    ::unlink(path_.c_str());
    ::close(lock_fd_);
  }
}

}  // namespace stepwell::swap
