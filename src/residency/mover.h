// Moves pages between home and place of use: the only code that knows which hops lie between two
// tiers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "src/device/device.h"
#include "src/residency/page.h"
#include "stepwell/memory/pool.h"
#include "swap/swap_space.h"

namespace stepwell::residency {

/// How a movement began.
enum class MoveStart : std::uint8_t {
  kDone,        // finished already, nothing in flight
  kStarted,     // the callback tells when it is finished
  kNoRoom,      // the place of use has no room; nothing has changed
  kNoHostRoom,  // the host has no room for a block on the way (or at home); nothing has changed
  kFailed,  // the system gave less memory than the budget allows: page.error; nothing has changed
};

/// Counters since construction. Bytes of finished movements.
struct MoverStats {
  std::uint64_t nvme_read_bytes = 0;
  std::uint64_t nvme_written_bytes = 0;
  std::uint64_t host_to_device_bytes = 0;
  std::uint64_t device_to_host_bytes = 0;
};

/// Calls must hold the page table's lock; the callback takes it.
class Mover {
 public:
  struct Options {
    device::Device* device = nullptr;
    memory::Pool* device_pool = nullptr;
    memory::Pool* host_pool = nullptr;
    swap::SwapSpace* swap = nullptr;  // null: no page has its home on NVMe
    /// A movement that began as kStarted has ended. On the I/O thread or a stream's thread, without
    /// the lock.
    std::function<void(Page&, const Status&)> on_moved;
  };
  explicit Mover(Options options);
  ~Mover();
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  /// Gives the page its block with undefined content.
  MoveStart place(Page& page);
  /// Gives the page its block and brings its content from home. `priority`: kDemand when something
  /// waits for it.
  MoveStart fetch(Page& page, io::Priority priority);
  /// Something waits for a page that is being moved.
  void hurry(Page& page);
  /// Makes home hold the content of the block. The block stays.
  MoveStart write_back(Page& page);
  /// Takes the block away; home holds the content, except on unified memory with a host home, where
  /// the block itself goes home: kNoRoom when the host pool is full.
  MoveStart take_away(Page& page);
  /// Whether a dirty page must be written before it is taken away.
  bool needs_write_back(const Page& page) const;
  /// Bookkeeping of a finished movement; call with the lock from on_moved's receiver.
  void on_finished(Page& page, bool was_fetch, const Status& status);
  MoverStats stats() const { return stats_; }

 private:
  memory::Pool& pool_of(const Page& page) const;
  static MoveStart allocate(memory::Pool& pool,
                            memory::Holder holder,
                            MoveStart when_full,
                            Page& page,
                            memory::Block& block);
  MoveStart allocate_staging(Page& page);
  bool direct_to_host(const Page& page) const;
  MoveStart fetch_from_swap(Page& page, io::Priority priority);
  MoveStart write_to_swap(Page& page);
  static void on_read(swap::Transfer& transfer, const Status& status) noexcept;
  static void on_written(swap::Transfer& transfer, const Status& status) noexcept;

  Options options_;
  std::unique_ptr<device::Stream> stream_;  // null on unified memory
  std::mutex queueing_;                     // held by the I/O thread while it uses the stream
  MoverStats stats_;
};

}  // namespace stepwell::residency
