// Which page is where: faults, pins, eviction and planned prefetch over the tiers of one service.
//
// An operator acquires its pages (all of them, or none and an error) and releases them when it is
// done. While pinned, a page is at its place of use and does not move. Everything else is the
// table's decision: what to drop when room is needed (farthest next use in the recorded schedule;
// least recently used before there is one), what to fetch ahead (the plan).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "src/residency/mover.h"
#include "src/residency/page.h"
#include "src/residency/step_tracker.h"
#include "stepwell/status.h"

namespace stepwell::residency {

using schedule::Access;
using schedule::PageUse;

struct PageTableOptions {
  device::Device* device = nullptr;
  memory::Pool* device_pool = nullptr;
  memory::Pool* host_pool = nullptr;
  swap::SwapSpace* swap = nullptr;       // null: pages cannot have their home on NVMe
  std::uint64_t prefetch_bytes_max = 0;  // fetched ahead and not yet used, per pool; 0: only faults
};

/// Counters since the last take_stats().
struct PageTableStats {
  std::uint64_t uses = 0;
  std::uint64_t faults = 0;  // uses that waited
  std::uint64_t prefetches = 0;
  std::uint64_t stall_ns = 0;
  std::uint64_t longest_stall_ns = 0;
  std::string longest_stall_page;
  std::string longest_stall_operator;
  MoverStats moved;
};

/// What pins stand for; decides whether waiting for them can end.
enum class Hold : std::uint8_t {
  kOperator,  // released by the operator's thread as soon as it is done; it acquires nothing
              // meanwhile
  kLong,      // released at some later time; the holder may acquire more meanwhile
};

/// Thread-safe. Must outlive its pages' clients' calls; the pools, the device and the swap space
/// must outlive it.
class PageTable {
 public:
  explicit PageTable(const PageTableOptions& options);
  /// Waits for movements in flight. All pages must be unpinned.
  ~PageTable();
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  /// A new empty page. kNoSpace when its home has no room for it. `client` may be null; it must
  /// live until destroy().
  Result<PageId> create(const PageOptions& options, PageClient* client = nullptr);
  /// Forgets the page and its content. Not pinned. Waits for a movement of it in flight.
  void destroy(PageId id);

  /// Gives the page another name in messages. Waits for a movement of it in flight.
  void rename(PageId id, const std::string& name);

  NameId operator_id(const std::string& name);

  /// Pins every page of `uses` at its place of use. Blocks while content arrives. On failure
  /// nothing is pinned: kBudgetExceeded (they do not fit together), kCorrupt and I/O errors (naming
  /// the page), kNoSpace (a page that had to make room could not be written). A page may occur
  /// once.
  Status acquire(NameId operator_name, std::span<const PageUse> uses, Hold hold = Hold::kOperator);
  /// Undoes one acquire with the same `uses` and `hold`.
  void release(std::span<const PageUse> uses, Hold hold = Hold::kOperator);
  /// Address of a pinned page.
  std::byte* data(PageId id) const;
  /// The content of an unpinned page is dead: its block is freed and nothing is written.
  void discard(PageId id);
  /// Acquisitions of the page so far that could have changed it.
  std::uint64_t write_count(PageId id) const;
  /// Says that a pinned page was changed by other means than its access told.
  void mark_written(PageId id);

  void begin_step(StepKind kind);
  void end_step(StepKind kind);

  PageState state(PageId id) const;
  std::uint64_t page_count() const;
  std::uint64_t page_bytes() const;
  /// The budget of a memory tier.
  std::uint64_t limit_bytes(Tier tier) const;
  /// Gives back to the system what the pools keep for reuse.
  void trim();
  PageTableStats take_stats();
  /// Waits until nothing moves. Planned fetches that find no room stay planned.
  void settle();

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Waiting;
  struct Shortage;

  Page& page(PageId id) { return *pages_[id.value]; }
  const Page& page(PageId id) const { return *pages_[id.value]; }
  memory::Pool& pool_of(const Page& page) const { return pool_of(page.options.pool); }
  memory::Pool& pool_of(Tier tier) const;

  Status bring_in(Lock& lock, NameId operator_name, std::span<const PageUse> uses);
  bool bring_in_once(std::span<const PageUse> uses, Waiting& waiting);
  void materialise(Page& page, Access access, Waiting& waiting);
  Status resolve_shortage(Lock& lock, const Waiting& waiting, std::span<const PageUse> uses);
  bool make_room(Shortage& shortage);
  bool evict(Page& page);
  void undo_overwrite(Page& page);
  Page* choose_victim(Tier pool);
  Status budget_error(const Shortage& shortage, std::span<const PageUse> uses) const;
  Status no_way_out_error(const Shortage& shortage) const;

  void follow_plan(std::span<const schedule::Action> actions);
  void clear_queue();
  void pump_fetches();
  bool start_fetch(Page& page);
  void on_moved(Page& page, const Status& status);
  void finish_fetch(Page& page, const Status& status);
  void finish_write(Page& page, const Status& status);
  void set_resident(Page& page);
  void unset_resident(Page& page);
  void make_plan(StepKind kind);
  void account_stall(const Waiting& waiting, NameId operator_name, std::uint64_t stall_ns);

  const PageTableOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable moved_;  // a movement ended, or pins were released
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<PageId> resident_;  // movable and resident
  std::deque<PageId> to_fetch_;   // planned, not started
  schedule::NameTable names_;
  StepTracker tracker_;
  StepKind last_kind_ = StepKind::kTraining;  // of the last step begun
  std::uint64_t use_counter_ = 0;
  std::uint32_t in_flight_ = 0;
  std::uint32_t operator_holds_ = 0;  // operators that run with their pages pinned
  bool assembling_ = false;  // a thread is collecting its pages; others wait for their turn
  bool starving_ = false;    // it waits for room: prefetch must not take it
  Status write_error_;       // of a page that had to make room
  PageTableStats stats_;
  MoverStats moved_before_;
  std::uint64_t live_pages_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::unique_ptr<Mover> mover_;
};

/// Pages of one operator, released at the end of the scope.
class ScopedPages {
 public:
  ScopedPages() = default;
  ScopedPages(const ScopedPages&) = delete;
  ScopedPages& operator=(const ScopedPages&) = delete;
  ~ScopedPages() { release(); }

  /// `uses` must live as long as this.
  Status acquire(PageTable& table, NameId operator_name, std::span<const PageUse> uses) {
    release();
    STEPWELL_RETURN_IF_ERROR(table.acquire(operator_name, uses));
    table_ = &table;
    uses_ = uses;
    return {};
  }
  void release() {
    if (table_ != nullptr) {
      table_->release(uses_);
      table_ = nullptr;
    }
  }

 private:
  PageTable* table_ = nullptr;
  std::span<const PageUse> uses_;
};

}  // namespace stepwell::residency
