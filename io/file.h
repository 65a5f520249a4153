// A file opened for asynchronous I/O: direct when the file system allows it, buffered otherwise,
// and it says which.
#pragma once

#include <cstdint>
#include <string>

#include "stepwell/status.h"

namespace stepwell::io {

/// Alignment that direct I/O asks of memory addresses and of file offsets and lengths. 1 and 1 when
/// buffered.
struct Alignment {
  std::uint32_t memory_bytes = 1;
  std::uint32_t offset_bytes = 1;
};

struct FileOptions {
  bool create = false;     // create when missing (mode 0600), never truncates
  bool exclusive = false;  // with create: fail when it exists
  bool writable = true;
  bool direct = true;  // try O_DIRECT; refused by the file system: buffered, see direct_refusal()
};

/// Move-only owner of the descriptors. Thread-safe for I/O once opened. Holds a direct and a
/// buffered descriptor, so that one request which is not aligned is served through the page cache
/// instead of failing.
class File {
 public:
  static Result<File> open(const std::string& path, const FileOptions& options);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& path() const { return path_; }
  bool direct() const { return direct_fd_ >= 0; }
  /// Why direct I/O is not used; empty when it is or was not asked for.
  const std::string& direct_refusal() const { return direct_refusal_; }
  Alignment alignment() const { return alignment_; }
  /// The descriptor that serves a request of this shape: the direct one when address, offset and
  /// length are aligned.
  int fd_for(const void* data, std::uint64_t offset, std::uint64_t size_bytes) const;
  int buffered_fd() const { return buffered_fd_; }
  int direct_fd() const { return direct_fd_; }  // -1: none

  /// Bytes of the file now.
  Result<std::uint64_t> size_bytes() const;
  /// Makes sure that the first `size_bytes` have room on the medium (posix_fallocate semantics).
  /// Not enough room: kNoSpace with needed and free bytes and the path; what was allocated by this
  /// call is given back.
  Status preallocate(std::uint64_t size_bytes);

 private:
  File() = default;
  void close_all() noexcept;

  std::string path_;
  int direct_fd_ = -1;
  int buffered_fd_ = -1;
  Alignment alignment_;
  std::string direct_refusal_;
};

/// Free bytes for this user on the file system that holds `path`.
Result<std::uint64_t> free_bytes_at(const std::string& path);

}  // namespace stepwell::io
