#include "stepwell/memory/pool.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "src/base/format.h"
#include "stepwell/bytes.h"
#include "stepwell/check.h"

namespace stepwell::memory {
namespace {

#ifdef NDEBUG
constexpr bool kPoison = false;
#else
constexpr bool kPoison = true;
#endif
constexpr int kPoisonByte = 0xDB;

/// A freed block that waits for a request of its size.
struct Kept {
  std::byte* data = nullptr;
  std::uint64_t capacity_bytes = 0;
};

}  // namespace

Block::Block(Block&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      capacity_bytes_(std::exchange(other.capacity_bytes_, 0)),
      holder_(other.holder_) {}

Block& Block::operator=(Block&& other) noexcept {
  if (this != &other) {
    release();
    pool_ = std::exchange(other.pool_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    capacity_bytes_ = std::exchange(other.capacity_bytes_, 0);
    holder_ = other.holder_;
  }
  return *this;
}

Block::~Block() {
  release();
}

void Block::release() {
  if (data_ != nullptr) {
    pool_->take_back(data_, capacity_bytes_, holder_);
    pool_ = nullptr;
    data_ = nullptr;
    capacity_bytes_ = 0;
  }
}

void Block::abandon() {
  if (data_ != nullptr) {
    pool_->give_up(capacity_bytes_);
    pool_ = nullptr;
    data_ = nullptr;
    capacity_bytes_ = 0;
  }
}

struct Pool::Impl {
  explicit Impl(Source& from) : source(from) {}

  Source& source;
  mutable std::mutex mutex;
  std::uint64_t live_bytes = 0;
  std::uint64_t kept_bytes = 0;
  std::uint64_t abandoned_bytes = 0;
  std::list<Kept> kept;  // oldest first
  std::unordered_map<std::uint64_t, std::list<std::list<Kept>::iterator>> kept_by_size;
  std::unordered_map<std::byte*, Reservation> reservations;  // of live and kept blocks

  std::byte* take_kept(std::uint64_t capacity_bytes);
  void drop(std::list<Kept>::iterator block);
};

/// The most recently freed block of exactly this size, or null.
std::byte* Pool::Impl::take_kept(std::uint64_t capacity_bytes) {
  const auto found = kept_by_size.find(capacity_bytes);
  if (found == kept_by_size.end() || found->second.empty()) {
    return nullptr;
  }
  const auto block = found->second.back();
  found->second.pop_back();
  std::byte* data = block->data;
  kept.erase(block);
  kept_bytes -= capacity_bytes;
  return data;
}

/// Gives a kept block back to the system.
void Pool::Impl::drop(std::list<Kept>::iterator block) {
  auto& same_size = kept_by_size[block->capacity_bytes];
  same_size.remove(block);
  if (same_size.empty()) {
    kept_by_size.erase(block->capacity_bytes);
  }
  kept_bytes -= block->capacity_bytes;
  source.unmap(block->data, block->capacity_bytes);
  reservations.erase(block->data);
  kept.erase(block);
}

Pool::Pool(Budget& budget, Source& source)
    : budget_(budget), impl_(std::make_unique<Impl>(source)) {}

Pool::~Pool() {
  STEPWELL_CHECK(impl_->live_bytes == 0,
                 concat("a pool of the ",
                        budget_.name(),
                        " tier ends with ",
                        impl_->live_bytes,
                        " bytes in use"));
  trim();
}

Result<Block> Pool::allocate(std::uint64_t bytes, Holder holder) {
  STEPWELL_CHECK(bytes > 0, "a block has at least one byte");
  const std::uint64_t capacity = align_up(bytes, kBlockAlignment);
  const std::lock_guard lock(impl_->mutex);
  std::byte* data = impl_->take_kept(capacity);
  if (data != nullptr) {
    // The reservation may have been made for another holder.
    impl_->reservations.erase(data);
  }
  while (data == nullptr && budget_.available_bytes() < capacity && !impl_->kept.empty()) {
    impl_->drop(impl_->kept.begin());
  }
  Result<Reservation> reservation = budget_.reserve(capacity, holder);
  if (!reservation.ok()) {
    return reservation.status();
  }
  if (data == nullptr) {
    Result<std::byte*> mapped = impl_->source.map(capacity);
    if (!mapped.ok()) {
      return mapped.status();
    }
    data = mapped.value();
  }
  impl_->reservations.emplace(data, std::move(reservation).value());
  impl_->live_bytes += capacity;
  Block block;
  block.pool_ = this;
  block.data_ = data;
  block.capacity_bytes_ = capacity;
  block.holder_ = holder;
  return block;
}

void Pool::give_up(std::uint64_t capacity_bytes) noexcept {
  const std::lock_guard lock(impl_->mutex);
  impl_->live_bytes -= capacity_bytes;
  impl_->abandoned_bytes += capacity_bytes;
}

std::uint64_t Pool::abandoned_bytes() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->abandoned_bytes;
}

void Pool::take_back(std::byte* data, std::uint64_t capacity_bytes, Holder) noexcept {
  if constexpr (kPoison) {
    std::memset(data, kPoisonByte, capacity_bytes);
  }
  const std::lock_guard lock(impl_->mutex);
  impl_->live_bytes -= capacity_bytes;
  impl_->kept_bytes += capacity_bytes;
  impl_->kept.push_back({data, capacity_bytes});
  impl_->kept_by_size[capacity_bytes].push_back(std::prev(impl_->kept.end()));
}

std::uint64_t Pool::room_bytes() const {
  const std::lock_guard lock(impl_->mutex);
  const std::uint64_t available = budget_.available_bytes();
  return available + std::min(impl_->kept_bytes, UINT64_MAX - available);
}

bool Pool::has_room(std::uint64_t bytes) const {
  return align_up(bytes, kBlockAlignment) <= room_bytes();
}

std::uint64_t Pool::live_bytes() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->live_bytes;
}

std::uint64_t Pool::kept_bytes() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->kept_bytes;
}

void Pool::trim() {
  const std::lock_guard lock(impl_->mutex);
  while (!impl_->kept.empty()) {
    impl_->drop(impl_->kept.begin());
  }
}

Status Pool::adopt(Block& block, Holder holder) {
  STEPWELL_CHECK(static_cast<bool>(block), "an empty block cannot change its pool");
  Pool& from = *block.pool_;
  if (&from == this) {
    return {};
  }
  const std::uint64_t capacity = block.capacity_bytes_;
  Result<Reservation> reservation = [&]() -> Result<Reservation> {
    const std::lock_guard lock(impl_->mutex);
    while (budget_.available_bytes() < capacity && !impl_->kept.empty()) {
      impl_->drop(impl_->kept.begin());
    }
    return budget_.reserve(capacity, holder);
  }();
  STEPWELL_RETURN_IF_ERROR(reservation.status());
  {
    const std::lock_guard lock(from.impl_->mutex);
    from.impl_->reservations.erase(block.data_);
    from.impl_->live_bytes -= capacity;
  }
  const std::lock_guard lock(impl_->mutex);
  impl_->reservations.emplace(block.data_, std::move(reservation).value());
  impl_->live_bytes += capacity;
  block.pool_ = this;
  block.holder_ = holder;
  return {};
}

}  // namespace stepwell::memory
