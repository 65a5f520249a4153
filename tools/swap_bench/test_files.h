// The files that are measured: one a folder, of a known size, full of incompressible bytes, and
// gone afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/volume.h"
#include "stepwell/bytes.h"
#include "stepwell/status.h"
#include "tools/common/signals.h"
#include "tools/swap_bench/buffers.h"
#include "tools/swap_bench/filesystem.h"
#include "tools/swap_bench/progress.h"

namespace stepwell::swap_bench {

struct TestFilesOptions {
  std::vector<std::string> folders;
  std::uint64_t size_bytes = kGiB;  // of each file, a multiple of 4 KiB
  bool buffered = false;      // through the page cache, which is dropped before each measurement
  std::string cpus = "any";   // cores of the I/O threads: any, near (the device), or 0-3,8
  bool allow_memory = false;  // file systems in memory too: the figures say nothing of a disk
};

/// How bytes get to the disk, as results name it.
enum class Access : std::uint8_t { kDirect, kBuffered, kMemory };
/// "direct", "buffered", "memory".
const char* to_string(Access access);

/// Move-only. Removes its files at destruction, and when a second signal ends the process.
/// Thread-compatible.
class TestFiles {
 public:
  /// Checks every folder before any file is made: that it is a folder on a disk (kUnsupported for
  /// file systems in memory), that there is room (kNoSpace with needed and free bytes), and that
  /// direct I/O works (kUnsupported with the cure). Then makes, preallocates and fills the files.
  /// kCancelled when a signal asks to stop.
  static Result<TestFiles> create(const TestFilesOptions& options,
                                  Buffers& buffers,
                                  Progress& progress);
  TestFiles(TestFiles&&) noexcept = default;
  TestFiles& operator=(TestFiles&&) = delete;
  ~TestFiles() = default;

  /// Opened once more, for a volume; `direct` false: through the page cache.
  Result<std::vector<io::VolumeMember>> open(bool direct) const;
  /// Bytes of a volume over all files whose stripes have `stripe_bytes`.
  std::uint64_t volume_bytes(std::uint64_t stripe_bytes) const;
  /// The same files, not owned: only that of `folders()[index]`. This must outlive it.
  TestFiles only(std::size_t index) const;
  /// The same, accessed in another way.
  TestFiles with_access(Access access) const;

  std::size_t count() const { return files_.size(); }
  const std::string& path(std::size_t index) const { return files_[index].path; }
  const std::vector<std::string>& folders() const { return options_.folders; }
  const std::vector<Filesystem>& filesystems() const { return filesystems_; }
  std::uint64_t size_bytes() const { return options_.size_bytes; }
  Access access() const { return access_; }

 private:
  struct OwnedFile {
    explicit OwnedFile(std::string name, bool removed) : path(std::move(name)), owned(removed) {
      if (owned) {
        signal.emplace_back(path);
      }
    }
    OwnedFile(OwnedFile&& other) noexcept;
    OwnedFile& operator=(OwnedFile&&) = delete;
    ~OwnedFile();
    std::string path;
    bool owned = false;
    std::vector<tools::RemovedBySignal> signal;
  };

  TestFiles() = default;
  Status inspect();
  Status make_files();
  Status fill(Buffers& buffers, Progress& progress);

  TestFilesOptions options_;
  std::vector<Filesystem> filesystems_;
  Access access_ = Access::kDirect;
  std::vector<OwnedFile> files_;
};

}  // namespace stepwell::swap_bench
