// A page: bytes with an identity, a place of use, and a home to go to when not in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "stepwell/ids.h"
#include "stepwell/memory/pool.h"
#include "stepwell/status.h"
#include "swap/extent.h"
#include "swap/transfer.h"

namespace stepwell::residency {

/// Told when operators may touch the bytes. Called with the page table's lock held: must not call
/// the table.
class PageClient {
 public:
  virtual ~PageClient() = default;
  /// The page is pinned: `data` is its address until on_detach().
  virtual void on_attach(std::byte* data) noexcept = 0;
  /// The last pin is gone.
  virtual void on_detach() noexcept = 0;
};

struct PageOptions {
  std::string name;              // parameter or state, for messages
  std::uint64_t size_bytes = 0;  // above 0
  Tier pool = Tier::kDevice;     // where operators use it: device or host
  Tier home = Tier::kDevice;     // where it goes when not in use; equal to `pool`: always resident
  memory::Holder holder = memory::Holder::kParameters;
  bool keep_resident = false;  // makes room only when nothing else can
  bool zero_fill = false;      // first use of a page never written finds zeros instead of anything
};

/// States of a page. Transitions (see page_table.cc):
///   empty -> resident (first use)            absent -> fetching -> resident (fault or prefetch)
///   resident -> absent (dropped, clean)      resident -> writing -> absent or resident (dropped,
///   dirty) any -> empty (content declared dead)
enum class PageState : std::uint8_t { kEmpty, kAbsent, kFetching, kResident, kWriting };
const char* to_string(PageState state);

/// Owned by the page table and guarded by its lock; while fetching or writing, `transfer` and the
/// blocks belong to the mover.
struct Page {
  PageId id;
  PageOptions options;
  PageClient* client = nullptr;
  PageState state = PageState::kEmpty;
  bool alive = true;
  bool attached = false;
  bool dirty = false;  // resident content differs from home
  bool drop_when_written = false;
  bool drop_when_released = false;  // the plan dropped it while it was pinned
  bool overwriting = false;  // resident without its content, which is still at home: see acquire()
  bool queued = false;       // in the queue of planned fetches
  std::uint32_t pins = 0;
  std::uint64_t last_use = 0;     // counter of acquisitions
  std::uint64_t write_count = 0;  // acquisitions that changed the content
  Status error;                   // why the last movement failed, until reported
  memory::Block block;            // at the place of use
  memory::Block
      home_block;         // host home on devices with memory of their own, or unified while absent
  memory::Block staging;  // on the way between NVMe and such a device
  swap::Extent extent;    // NVMe home
  swap::Transfer transfer;
  void* mover = nullptr;

  bool movable() const { return options.home != options.pool; }
  bool in_flight() const { return state == PageState::kFetching || state == PageState::kWriting; }
};

}  // namespace stepwell::residency
