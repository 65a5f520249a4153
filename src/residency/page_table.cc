#include "src/residency/page_table.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "src/base/format.h"
#include "src/residency/shortage.h"
#include "stepwell/bytes.h"
#include "stepwell/check.h"

namespace stepwell::residency {

const char* to_string(PageState state) {
  switch (state) {
    case PageState::kEmpty:
      return "empty";
    case PageState::kAbsent:
      return "absent";
    case PageState::kFetching:
      return "fetching";
    case PageState::kResident:
      return "resident";
    case PageState::kWriting:
      return "writing";
  }
  return "unknown";
}

PageTable::PageTable(const PageTableOptions& options) : options_(options) {
  Mover::Options mover{.device = options.device,
                       .device_pool = options.device_pool,
                       .host_pool = options.host_pool,
                       .swap = options.swap};
  mover.on_moved = [this](Page& moved, const Status& status) { on_moved(moved, status); };
  mover_ = std::make_unique<Mover>(std::move(mover));
}

PageTable::~PageTable() {
  {
    const Lock lock(mutex_);
    clear_queue();
  }
  settle();
  for (const auto& page : pages_) {
    STEPWELL_CHECK(page->pins == 0, concat("page '", page->options.name, "' is still in use"));
    if (page->extent.valid()) {
      options_.swap->release(std::move(page->extent));
    }
  }
}

memory::Pool& PageTable::pool_of(Tier tier) const {
  return tier == Tier::kDevice ? *options_.device_pool : *options_.host_pool;
}

Result<PageId> PageTable::create(const PageOptions& options, PageClient* client) {
  STEPWELL_CHECK(options.size_bytes > 0, concat("page '", options.name, "' has no bytes"));
  STEPWELL_CHECK(options.home >= options.pool && options.pool != Tier::kNvme,
                 concat("page '", options.name, "' cannot live in ", to_string(options.home)));
  auto page = std::make_unique<Page>();
  page->options = options;
  page->client = client;
  if (options.home == Tier::kNvme) {
    STEPWELL_CHECK(options_.swap != nullptr, "a page on NVMe needs a swap space");
    Result<swap::Extent> extent = options_.swap->allocate(options.size_bytes, options.name);
    if (!extent.ok()) {
      return extent.status().with_context(
          concat("no place for '", options.name, "' (", format_bytes(options.size_bytes), ")"));
    }
    page->extent = std::move(extent).value();
  }
  const Lock lock(mutex_);
  page->id = PageId{static_cast<std::uint32_t>(pages_.size())};
  pages_.push_back(std::move(page));
  ++live_pages_;
  live_bytes_ += options.size_bytes;
  return pages_.back()->id;
}

void PageTable::destroy(PageId id) {
  Lock lock(mutex_);
  Page& dead = page(id);
  STEPWELL_CHECK(dead.alive && dead.pins == 0,
                 concat("page '", dead.options.name, "' is destroyed while in use"));
  dead.drop_when_written = false;
  moved_.wait(lock, [&] { return !dead.in_flight(); });
  if (dead.state == PageState::kResident) {
    unset_resident(dead);
  }
  std::erase(to_fetch_, id);
  dead.alive = false;
  dead.state = PageState::kEmpty;
  dead.client = nullptr;
  dead.block.release();
  dead.home_block.release();
  --live_pages_;
  live_bytes_ -= dead.options.size_bytes;
  swap::Extent extent = std::exchange(dead.extent, swap::Extent());
  pump_fetches();
  lock.unlock();
  if (extent.valid()) {
    options_.swap->release(std::move(extent));
  }
}

void PageTable::rename(PageId id, const std::string& name) {
  Lock lock(mutex_);
  Page& renamed = page(id);
  moved_.wait(lock, [&] { return !renamed.in_flight(); });
  renamed.options.name = name;
  renamed.extent.name = name;
}

NameId PageTable::operator_id(const std::string& name) {
  const Lock lock(mutex_);
  return names_.id_of(name);
}

Status PageTable::acquire(NameId operator_name, std::span<const PageUse> uses, Hold hold) {
  Lock lock(mutex_);
  moved_.wait(lock, [&] { return !assembling_; });
  const auto actions = tracker_.on_operator(operator_name, uses);
  // Pinned from now on, so that no page of this operator makes room for another one.
  for (const PageUse& use : uses) {
    STEPWELL_CHECK(page(use.page).alive,
                   concat("page '", page(use.page).options.name, "' was destroyed"));
    ++page(use.page).pins;
  }
  assembling_ = true;
  Status status = bring_in(lock, operator_name, uses);
  assembling_ = false;
  starving_ = false;
  for (const PageUse& use : uses) {
    Page& used = page(use.page);
    if (!status.ok()) {
      --used.pins;
      undo_overwrite(used);
      continue;
    }
    used.overwriting = false;
    used.drop_when_released = false;
    used.last_use = ++use_counter_;
    if (use.access != Access::kRead) {
      used.dirty = true;
      ++used.write_count;
    }
    if (!used.attached && used.client != nullptr) {
      used.attached = true;
      used.client->on_attach(used.block.data());
    }
  }
  if (status.ok()) {
    operator_holds_ += hold == Hold::kOperator ? 1U : 0U;
    follow_plan(actions);
  } else {
    pump_fetches();
  }
  lock.unlock();
  moved_.notify_all();
  return status;
}

void PageTable::release(std::span<const PageUse> uses, Hold hold) {
  Lock lock(mutex_);
  for (const PageUse& use : uses) {
    Page& used = page(use.page);
    STEPWELL_CHECK(used.pins > 0, concat("page '", used.options.name, "' was not acquired"));
    if (--used.pins > 0) {
      continue;
    }
    if (used.attached) {
      used.attached = false;
      used.client->on_detach();
    }
    if (use.access == Access::kConsume && used.movable()) {
      unset_resident(used);
      used.block.release();
      used.dirty = false;
      used.state = PageState::kEmpty;
    } else if (used.drop_when_released && used.state == PageState::kResident) {
      evict(used);
    }
    used.drop_when_released = false;
  }
  if (hold == Hold::kOperator) {
    --operator_holds_;
    tracker_.on_operator_done();
  }
  pump_fetches();
  lock.unlock();
  moved_.notify_all();
}

Status PageTable::bring_in(Lock& lock, NameId operator_name, std::span<const PageUse> uses) {
  stats_.uses += uses.size();
  Waiting first;
  if (bring_in_once(uses, first)) {
    return {};
  }
  stats_.faults += first.missing;
  const auto start = std::chrono::steady_clock::now();
  Status status;
  write_error_ = Status();
  for (Waiting waiting = first; status.ok() && !waiting.complete;) {
    status = resolve_shortage(lock, waiting, uses);
    waiting = Waiting();
    if (status.ok()) {
      bring_in_once(uses, waiting);
    }
  }
  const auto stall = std::chrono::steady_clock::now() - start;
  account_stall(first,
                operator_name,
                static_cast<std::uint64_t>(
                    std::chrono::duration_cast<std::chrono::nanoseconds>(stall).count()));
  return status.ok()
             ? status
             : status.with_context(concat("operator '", names_.name_of(operator_name), "'"));
}

bool PageTable::bring_in_once(std::span<const PageUse> uses, Waiting& waiting) {
  for (const PageUse& use : uses) {
    materialise(page(use.page), use.access, waiting);
  }
  return waiting.complete;
}

/// One step of one page towards being resident.
void PageTable::materialise(Page& wanted, Access access, Waiting& waiting) {
  const bool needs_content = access != Access::kOverwrite;
  if (wanted.state == PageState::kResident ||
      (wanted.state == PageState::kWriting && access == Access::kRead)) {
    return;
  }
  if (wanted.in_flight()) {
    mover_->hurry(wanted);
    waiting.complete = false;
    ++waiting.missing;
    waiting.waits_for = waiting.waits_for == nullptr ? &wanted : waiting.waits_for;
    return;
  }
  const bool fetch = wanted.state == PageState::kAbsent && needs_content;
  if (fetch && !wanted.error.ok()) {
    waiting.complete = false;
    return;  // reported by resolve_shortage
  }
  wanted.error = Status();
  const bool fill = wanted.state == PageState::kEmpty && wanted.options.zero_fill;
  const MoveStart start =
      fetch ? mover_->fetch(wanted, io::Priority::kDemand) : mover_->place(wanted);
  waiting.complete = waiting.complete && start == MoveStart::kDone;
  if (start == MoveStart::kFailed) {
    return;  // reported by resolve_shortage
  }
  if (start == MoveStart::kNoRoom || start == MoveStart::kNoHostRoom) {
    ++waiting.missing;
    if (waiting.no_room_for == nullptr) {
      waiting.no_room_for = &wanted;
      waiting.short_tier = start == MoveStart::kNoRoom ? wanted.options.pool : Tier::kHost;
    }
    return;
  }
  if (start == MoveStart::kStarted) {
    ++waiting.missing;
    wanted.state = PageState::kFetching;
    ++in_flight_;
    waiting.waits_for = waiting.waits_for == nullptr ? &wanted : waiting.waits_for;
    return;
  }
  if (fill) {
    std::memset(wanted.block.data(), 0, wanted.options.size_bytes);
  }
  wanted.overwriting =
      !fetch && wanted.state == PageState::kAbsent && mover_->needs_write_back(wanted);
  // A page without content at home must be written before it can be dropped, whatever the access.
  wanted.dirty = wanted.dirty || !fetch;
  set_resident(wanted);
}

std::byte* PageTable::data(PageId id) const {
  const Lock lock(mutex_);
  STEPWELL_CHECK(page(id).pins > 0, concat("page '", page(id).options.name, "' is not pinned"));
  return page(id).block.data();
}

void PageTable::discard(PageId id) {
  Lock lock(mutex_);
  Page& dead = page(id);
  moved_.wait(lock, [&] { return !dead.in_flight(); });
  STEPWELL_CHECK(dead.pins == 0,
                 concat("page '", dead.options.name, "' is discarded while in use"));
  if (!dead.movable()) {
    return;
  }
  if (dead.state == PageState::kResident) {
    unset_resident(dead);
    dead.block.release();
  }
  dead.home_block.release();
  dead.dirty = false;
  dead.state = PageState::kEmpty;
  pump_fetches();
}

std::uint64_t PageTable::write_count(PageId id) const {
  const Lock lock(mutex_);
  return page(id).write_count;
}

void PageTable::mark_written(PageId id) {
  const Lock lock(mutex_);
  Page& written = page(id);
  STEPWELL_CHECK(written.pins > 0, concat("page '", written.options.name, "' is not pinned"));
  written.dirty = true;
  ++written.write_count;
}

PageState PageTable::state(PageId id) const {
  const Lock lock(mutex_);
  return page(id).state;
}

std::uint64_t PageTable::page_count() const {
  const Lock lock(mutex_);
  return live_pages_;
}

std::uint64_t PageTable::page_bytes() const {
  const Lock lock(mutex_);
  return live_bytes_;
}

std::uint64_t PageTable::limit_bytes(Tier tier) const {
  return pool_of(tier).budget().limit_bytes();
}

void PageTable::trim() {
  pool_of(Tier::kDevice).trim();
  pool_of(Tier::kHost).trim();
}

PageTableStats PageTable::take_stats() {
  const Lock lock(mutex_);
  PageTableStats taken = std::exchange(stats_, PageTableStats());
  const MoverStats now = mover_->stats();
  taken.moved = {
      .nvme_read_bytes = now.nvme_read_bytes - moved_before_.nvme_read_bytes,
      .nvme_written_bytes = now.nvme_written_bytes - moved_before_.nvme_written_bytes,
      .host_to_device_bytes = now.host_to_device_bytes - moved_before_.host_to_device_bytes,
      .device_to_host_bytes = now.device_to_host_bytes - moved_before_.device_to_host_bytes};
  moved_before_ = now;
  return taken;
}

void PageTable::settle() {
  Lock lock(mutex_);
  moved_.wait(lock, [&] { return in_flight_ == 0; });
}

void PageTable::account_stall(const Waiting& waiting,
                              NameId operator_name,
                              std::uint64_t stall_ns) {
  stats_.stall_ns += stall_ns;
  if (stall_ns > stats_.longest_stall_ns) {
    const Page* cause = waiting.no_room_for != nullptr ? waiting.no_room_for : waiting.waits_for;
    stats_.longest_stall_ns = stall_ns;
    stats_.longest_stall_page = cause != nullptr ? cause->options.name : "";
    stats_.longest_stall_operator = names_.name_of(operator_name);
  }
}

}  // namespace stepwell::residency
