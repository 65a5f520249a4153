// The swap space of one process: a preallocated file in a folder, extents in it, and checked
// transfers to them.
//
// The file is named stepwell-<process>-<rank>-<number>.swap and locked while it lives. It is
// removed on close; what a killed process left behind is recognised by its free lock and removed by
// the next open() of the folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "io/engine.h"
#include "stepwell/status.h"
#include "swap/extent.h"
#include "swap/transfer.h"

namespace stepwell::swap {

struct SwapSpaceOptions {
  std::string folder;  // must exist and be writable
  int rank = 0;
  std::uint64_t reserve_bytes = 0;     // preallocated at open; more is added when needed
  std::uint64_t request_bytes = kMiB;  // size of one I/O request
  bool direct = true;                  // direct I/O where the file system allows it
  io::EngineOptions engine;
  /// Tests put a faulty engine here; empty: io::Engine::create(engine).
  std::function<Result<std::unique_ptr<io::Engine>>()> engine_factory;
};

struct SwapStats {
  std::uint64_t file_bytes = 0;       // preallocated
  std::uint64_t allocated_bytes = 0;  // in extents
  std::uint64_t read_bytes = 0;       // logical bytes of completed transfers
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

  /// Starts `transfer`. Its callback runs on the I/O thread exactly once. Reading verifies every
  /// block's checksum (kCorrupt names extent, block, file and offset); reading a block that was
  /// never written is a checked error.
  void submit(Transfer& transfer);
  /// Runs `transfer` and waits; its on_complete is not used.
  Status run_blocking(Transfer& transfer);

  const std::string& path() const;
  /// Engine, direct or buffered (with the reason), alignment: one line for the log.
  std::string describe() const;
  SwapStats stats() const;

  struct Impl;  // named by the requests in flight

 private:
  explicit SwapSpace(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepwell::swap
