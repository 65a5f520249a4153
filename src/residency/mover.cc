#include "src/residency/mover.h"

#include <utility>

#include "src/base/format.h"
#include "stepwell/check.h"

namespace stepwell::residency {

// Note [Hops]
// ~~~~~~~~~~~
// Unified memory (the CPU device): a page with a host home is handed over between the accounts of
// the two pools, its bytes stay where they are; a page with an NVMe home is read straight into the
// block where operators use it. A device with memory of its own: a host home keeps its block for
// good and the stream copies between the two; NVMe pages pass through a staging block of the host
// pool. Pages used on the host never need the device.

Mover::Mover(Options options) : options_(std::move(options)) {
  if (!options_.device->unified_memory()) {
    stream_ = options_.device->create_stream();
  }
}

Mover::~Mover() {
  {
    // What the I/O thread queued last may have run before its call returned.
    const std::lock_guard lock(queueing_);
  }
  if (stream_) {
    stream_->synchronize();
  }
}

memory::Pool& Mover::pool_of(const Page& page) const {
  return page.options.pool == Tier::kDevice ? *options_.device_pool : *options_.host_pool;
}

bool Mover::direct_to_host(const Page& page) const {
  return stream_ == nullptr || page.options.pool == Tier::kHost;
}

bool Mover::needs_write_back(const Page& page) const {
  return !(page.options.home == Tier::kHost && stream_ == nullptr);
}

MoveStart Mover::place(Page& page) {
  if (page.home_block && stream_ == nullptr) {
    // The old content is at home in the very block that operators use.
    return options_.device_pool->adopt(page.home_block, page.options.holder).ok()
               ? (page.block = std::move(page.home_block), MoveStart::kDone)
               : MoveStart::kNoRoom;
  }
  return allocate(pool_of(page), page.options.holder, MoveStart::kNoRoom, page, page.block);
}

/// Gives `block` room for the bytes of `page`; `when_full` is the answer when the budget has none.
MoveStart Mover::allocate(memory::Pool& pool,
                          memory::Holder holder,
                          MoveStart when_full,
                          Page& page,
                          memory::Block& block) {
  Result<memory::Block> made = pool.allocate(page.options.size_bytes, holder);
  if (made.ok()) {
    block = std::move(made).value();
    return MoveStart::kDone;
  }
  if (made.status().code() == StatusCode::kBudgetExceeded) {
    return when_full;
  }
  // Making room would not help, so trying again would not end.
  page.error = made.status().with_context(concat("no memory for page '",
                                                 page.options.name,
                                                 "' although the budget has room for it (lower "
                                                 "stepwell.memory.",
                                                 pool.budget().name(),
                                                 "_bytes)"));
  return MoveStart::kFailed;
}

MoveStart Mover::allocate_staging(Page& page) {
  return allocate(
      *options_.host_pool, memory::Holder::kStaging, MoveStart::kNoHostRoom, page, page.staging);
}

void Mover::hurry(Page& page) {
  // A write that first passes a stream is not the swap space's yet.
  const bool submitted = direct_to_host(page) || page.state == PageState::kFetching;
  if (page.options.home == Tier::kNvme && submitted &&
      page.transfer.priority != io::Priority::kDemand) {
    page.transfer.priority = io::Priority::kDemand;
    options_.swap->change_priority(page.transfer, io::Priority::kDemand);
  }
}

MoveStart Mover::fetch(Page& page, io::Priority priority) {
  if (page.options.home == Tier::kNvme) {
    return fetch_from_swap(page, priority);
  }
  if (const MoveStart placed = place(page); placed != MoveStart::kDone) {
    return placed;
  }
  if (stream_ == nullptr) {
    stats_.host_to_device_bytes += page.options.size_bytes;
    return MoveStart::kDone;
  }
  stream_->copy_async(page.block.data(), page.home_block.data(), page.options.size_bytes);
  stream_->call_async([this, &page] { options_.on_moved(page, Status()); });
  return MoveStart::kStarted;
}

MoveStart Mover::fetch_from_swap(Page& page, io::Priority priority) {
  if (!direct_to_host(page)) {
    if (const MoveStart staged = allocate_staging(page); staged != MoveStart::kDone) {
      return staged;
    }
  }
  if (const MoveStart placed = place(page); placed != MoveStart::kDone) {
    page.staging.release();
    return placed;
  }
  page.mover = this;
  page.transfer.direction = io::Direction::kRead;
  page.transfer.priority = priority;
  page.transfer.extent = &page.extent;
  page.transfer.size_bytes = page.options.size_bytes;
  page.transfer.data = page.staging ? page.staging.data() : page.block.data();
  page.transfer.on_complete = &Mover::on_read;
  page.transfer.context = &page;
  options_.swap->submit(page.transfer);
  return MoveStart::kStarted;
}

void Mover::on_read(swap::Transfer& transfer, const Status& status) noexcept {
  Page& page = *static_cast<Page*>(transfer.context);
  auto& mover = *static_cast<Mover*>(page.mover);
  if (!status.ok() || !page.staging) {
    mover.options_.on_moved(page, status);
    return;
  }
  const std::lock_guard lock(mover.queueing_);
  mover.stream_->copy_async(page.block.data(), page.staging.data(), page.options.size_bytes);
  mover.stream_->call_async([&mover, &page] { mover.options_.on_moved(page, Status()); });
}

MoveStart Mover::write_back(Page& page) {
  if (page.options.home == Tier::kNvme) {
    return write_to_swap(page);
  }
  STEPWELL_CHECK(stream_ != nullptr,
                 "unified memory hands pages over, it does not write them back");
  if (!page.home_block) {
    const MoveStart placed = allocate(
        *options_.host_pool, page.options.holder, MoveStart::kNoHostRoom, page, page.home_block);
    if (placed != MoveStart::kDone) {
      return placed;
    }
  }
  stream_->copy_async(page.home_block.data(), page.block.data(), page.options.size_bytes);
  stream_->call_async([this, &page] { options_.on_moved(page, Status()); });
  return MoveStart::kStarted;
}

MoveStart Mover::write_to_swap(Page& page) {
  page.mover = this;
  page.transfer.direction = io::Direction::kWrite;
  page.transfer.priority = io::Priority::kWriteBack;
  page.transfer.extent = &page.extent;
  page.transfer.size_bytes = page.options.size_bytes;
  page.transfer.data = page.block.data();
  page.transfer.on_complete = &Mover::on_written;
  page.transfer.context = &page;
  if (direct_to_host(page)) {
    options_.swap->submit(page.transfer);
    return MoveStart::kStarted;
  }
  if (const MoveStart staged = allocate_staging(page); staged != MoveStart::kDone) {
    return staged;
  }
  page.transfer.data = page.staging.data();
  stream_->copy_async(page.staging.data(), page.block.data(), page.options.size_bytes);
  stream_->call_async([this, &page] { options_.swap->submit(page.transfer); });
  return MoveStart::kStarted;
}

void Mover::on_written(swap::Transfer& transfer, const Status& status) noexcept {
  Page& page = *static_cast<Page*>(transfer.context);
  static_cast<Mover*>(page.mover)->options_.on_moved(page, status);
}

MoveStart Mover::take_away(Page& page) {
  if (page.options.home == Tier::kHost && stream_ == nullptr) {
    if (!options_.host_pool->adopt(page.block, page.options.holder).ok()) {
      return MoveStart::kNoHostRoom;
    }
    page.home_block = std::move(page.block);
    stats_.device_to_host_bytes += page.options.size_bytes;
    return MoveStart::kDone;
  }
  page.block.release();
  return MoveStart::kDone;
}

void Mover::on_finished(Page& page, bool was_fetch, const Status& status) {
  const bool crossed_to_device = !direct_to_host(page);
  if (page.transfer.request.abandoned) {
    // The device may still write to these bytes. A page that could not be written keeps its block:
    // it holds the only copy, and a late write only reads it.
    page.staging ? page.staging.abandon() : was_fetch ? page.block.abandon() : void();
    page.transfer.request.abandoned = false;
  }
  page.staging.release();
  if (!status.ok()) {
    return;
  }
  const std::uint64_t bytes = page.options.size_bytes;
  if (page.options.home == Tier::kNvme) {
    (was_fetch ? stats_.nvme_read_bytes : stats_.nvme_written_bytes) += bytes;
  }
  if (crossed_to_device) {
    (was_fetch ? stats_.host_to_device_bytes : stats_.device_to_host_bytes) += bytes;
  }
}

}  // namespace stepwell::residency
