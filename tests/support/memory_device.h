// A disk in memory, whose behaviour follows from a seed: requests complete in any order, in parts,
// after interruptions and late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "io/engine.h"

namespace stepwell::test {

struct MemoryDeviceOptions {
  std::uint64_t seed = 1;
  std::uint64_t capacity_bytes = UINT64_MAX;  // of all files together; beyond it: ENOSPC
  // Shares of requests, 0 to 1.
  double short_share = 0.2;        // move only some of their bytes
  double interrupted_share = 0.1;  // answer EINTR or EAGAIN first
  double late_share = 0.1;         // are passed over when others could be taken instead
};

/// Bytes by path of the file (which only names them: nothing is written to it). Thread-safe, and
/// several engines may share one device.
class MemoryDevice {
 public:
  explicit MemoryDevice(const MemoryDeviceOptions& options);

  /// What was written to `path`.
  std::vector<std::byte> bytes_of(const std::string& path) const;
  /// Changes one byte behind everyone's back.
  void flip_bit(const std::string& path, std::uint64_t offset);

 private:
  friend class MemoryEngine;
  bool happens(double share);                // with the mutex held
  std::uint64_t below(std::uint64_t bound);  // with the mutex held
  std::int64_t transfer(const io::File& file_name,
                        io::Direction direction,
                        std::uint64_t offset,
                        std::span<std::byte> memory);

  MemoryDeviceOptions options_;
  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::map<std::string, std::vector<std::byte>> files_;
  std::uint64_t used_bytes_ = 0;
};

/// An engine over `device`, for a Loop or for SwapSpaceOptions::engine_factory.
std::unique_ptr<io::Engine> make_memory_engine(std::shared_ptr<MemoryDevice> device,
                                               std::uint32_t queue_depth = 8);

}  // namespace stepwell::test
