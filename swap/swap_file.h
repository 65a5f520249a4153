// The file behind a swap space: named after its owner, locked while it lives, reclaimed when the
// owner died.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/file.h"
#include "stepwell/status.h"

namespace stepwell::swap {

/// Move-only. Removed from the folder at destruction.
class SwapFile {
 public:
  /// Checks the folder, removes files whose owner is dead, creates and locks a new one.
  static Result<SwapFile> create(const std::string& folder, int rank, bool direct);
  SwapFile(SwapFile&& other) noexcept;
  SwapFile& operator=(SwapFile&& other) = delete;
  ~SwapFile();

  const std::string& path() const { return path_; }
  /// The open file, for whoever does the I/O. Once.
  io::File take_file() { return std::move(file_); }

 private:
  SwapFile(io::File file, int lock_fd)
      : path_(file.path()), file_(std::move(file)), lock_fd_(lock_fd) {}

  std::string path_;
  io::File file_;
  int lock_fd_ = -1;
};

/// The files that the next swap space of this process makes in `folders`, for a handler that has to
/// remove them whatever happens.
std::vector<std::string> next_swap_files(const std::vector<std::string>& folders, int rank);

/// Removes swap files of `folder` whose lock nobody holds. Returns how many.
std::size_t reclaim_dead_files(const std::string& folder);

}  // namespace stepwell::swap
