// Page-exact memory of one tier. Blocks are whole multiples of 4 KiB, aligned to 4 KiB (fit for
// direct I/O), with no rounding to powers of two. Freed blocks are kept for requests of the same
// size while the budget has room for them, and are given back to the system as soon as another size
// needs the room: the budget covers live and kept bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "stepwell/memory/budget.h"
#include "stepwell/status.h"

namespace stepwell::memory {

inline constexpr std::uint64_t kBlockAlignment = 4096;

/// Where the bytes of a pool come from. Thread-safe.
class Source {
 public:
  virtual ~Source() = default;
  /// `bytes` is a multiple of kBlockAlignment; so is the address. Contents undefined.
  virtual Result<std::byte*> map(std::uint64_t bytes) = 0;
  virtual void unmap(std::byte* data, std::uint64_t bytes) noexcept = 0;
};

/// Anonymous memory of the host. `pinned`: locked into memory (mlock); when the system refuses, the
/// block is left unlocked and one warning names the limit and the cure.
std::unique_ptr<Source> make_host_source(bool pinned);

class Pool;

/// Move-only owner of one block of a pool.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  explicit operator bool() const { return data_ != nullptr; }
  std::byte* data() const { return data_; }
  /// Usable bytes: the request rounded up to kBlockAlignment.
  std::uint64_t capacity_bytes() const { return capacity_bytes_; }
  /// Gives the block back to its pool now.
  void release();
  /// Gives the block up for good: its bytes are never used again and stay charged as long as the
  /// pool lives. For memory that a device which does not answer may still write to.
  void abandon();

 private:
  friend class Pool;
  Pool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t capacity_bytes_ = 0;
  Holder holder_ = Holder::kOther;
};

/// Thread-safe. Must outlive its blocks (checked at destruction). In debug builds released blocks
/// are filled with a pattern, so that use after release shows.
class Pool {
 public:
  /// `budget` and `source` must outlive the pool.
  Pool(Budget& budget, Source& source);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// A block of at least `bytes` (above 0), or kBudgetExceeded. Never blocks.
  Result<Block> allocate(std::uint64_t bytes, Holder holder);
  /// True when allocate(bytes) would find room now (kept blocks count as room).
  bool has_room(std::uint64_t bytes) const;
  /// Bytes that live blocks could still take.
  std::uint64_t room_bytes() const;
  /// Bytes of live blocks.
  std::uint64_t live_bytes() const;
  /// Bytes of blocks that were given up.
  std::uint64_t abandoned_bytes() const;
  /// Bytes kept for reuse.
  std::uint64_t kept_bytes() const;
  /// Gives every kept block back to the system.
  void trim();
  /// Moves `block` of another pool into this one's account without touching its bytes. Both pools
  /// must have sources of one kind of memory (on the CPU device, host and device memory are the
  /// same). On failure `block` is unchanged.
  Status adopt(Block& block, Holder holder);
  Budget& budget() { return budget_; }

 private:
  friend class Block;
  struct Impl;
  void take_back(std::byte* data, std::uint64_t capacity_bytes, Holder holder) noexcept;
  void give_up(std::uint64_t capacity_bytes) noexcept;
  Budget& budget_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepwell::memory
