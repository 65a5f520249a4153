// The swap space of one process: preallocated files, one a folder, striped to one range of bytes;
// extents in it, and checked transfers to them.
//
// A file is named stepwell-<process>-<rank>-<number>.swap and locked while it lives. It is
// removed on close; what a killed process left behind is recognised by its free lock and removed by
// the next open() of the folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/volume.h"
#include "stepwell/status.h"
#include "swap/extent.h"
#include "swap/transfer.h"

namespace stepwell::swap {

/// A place for a part of the swap space.
struct SwapFolder {
  std::string path;          // must exist and be writable
  double weight = 1;         // share of the bytes: the bandwidth of its device, in any unit
  std::string cpus = "any";  // cores of its I/O threads, see io::cpus_for()
};

struct SwapSpaceOptions {
  std::vector<SwapFolder> folders;  // one a device; at least one
  int rank = 0;
  std::uint64_t reserve_bytes = 0;  // preallocated at open; more is added when needed
  bool direct = true;               // direct I/O where the file system allows it
  io::VolumeOptions volume;
  /// Tests put a faulty engine here; empty: io::Engine::create(volume.engine).
  io::Volume::EngineFactory engine_factory;
};

struct SwapStats {
  std::uint64_t file_bytes = 0;       // preallocated
  std::uint64_t allocated_bytes = 0;  // in extents
  std::uint64_t peak_allocated_bytes = 0;
  std::uint64_t read_bytes = 0;  // logical bytes of completed transfers
  std::uint64_t written_bytes = 0;
  std::uint64_t reads = 0;  // transfers
  std::uint64_t writes = 0;
  std::uint64_t corrupt_blocks = 0;
};

/// Thread-safe. Must outlive its extents' transfers.
class SwapSpace {
 public:
  /// Errors: folder missing, not a folder, read-only, not writable (kNotFound, kInvalidArgument,
  /// kReadOnly, kPermissionDenied), no room for reserve_bytes (kNoSpace, with needed and free
  /// bytes). Leaves nothing behind.
  static Result<std::unique_ptr<SwapSpace>> open(const SwapSpaceOptions& options);
  /// Waits for transfers in flight, then removes the file.
  ~SwapSpace();
  SwapSpace(const SwapSpace&) = delete;
  SwapSpace& operator=(const SwapSpace&) = delete;

  /// Makes the file at least `total_bytes` long (preallocated), or kNoSpace with the numbers.
  Status reserve(std::uint64_t total_bytes);
  /// An extent of `size_bytes` (above 0) for the page called `name`; its blocks are unwritten.
  Result<Extent> allocate(std::uint64_t size_bytes, std::string name);
  /// Gives the extent's room back. No transfer of it may be in flight.
  void release(Extent&& extent);

  /// Starts `transfer`. Its callback runs on an I/O thread exactly once. Reading verifies every
  /// block's checksum (kCorrupt names extent, block, file and offset); reading a block that was
  /// never written is a checked error.
  void submit(Transfer& transfer);
  /// Runs `transfer` and waits; its on_complete is not used.
  Status run_blocking(Transfer& transfer);
  /// For what of `transfer` has not begun. It must not end meanwhile (see Page).
  void change_priority(Transfer& transfer, io::Priority priority);

  /// Of the first folder's file.
  const std::string& path() const;
  /// Files, engines, direct or buffered (with the reason), alignment: one line for the log.
  std::string describe() const;
  /// What each device did.
  std::vector<io::Volume::MemberStats> device_stats() const;
  /// See io::Volume::complaints().
  std::vector<std::string> complaints() const;
  SwapStats stats() const;

  struct Impl;  // named by the requests in flight

 private:
  explicit SwapSpace(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepwell::swap
