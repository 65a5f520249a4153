// The part of the page table that moves pages without an operator waiting: plans, prefetch, ends of
// movements.
#include <algorithm>
#include <vector>

#include "src/base/format.h"
#include "src/residency/page_table.h"
#include "stepwell/bytes.h"
#include "stepwell/check.h"
#include "stepwell/log.h"

namespace stepwell::residency {

void PageTable::begin_step(StepKind kind) {
  Lock lock(mutex_);
  // A thread that collects its pages follows the present plan when it has them.
  moved_.wait(lock, [&] { return !assembling_; });
  const bool other_plan = tracker_.needs_plan(kind);
  if (other_plan || kind != last_kind_) {
    clear_queue();  // else the end of the last step fetched for the start of this one
  }
  last_kind_ = kind;
  if (other_plan) {
    make_plan(kind);
  }
  tracker_.begin(kind);
}

void PageTable::end_step(StepKind kind) {
  const Lock lock(mutex_);
  tracker_.end(kind);
}

void PageTable::make_plan(StepKind kind) {
  std::vector<schedule::PageFacts> facts;
  facts.reserve(pages_.size());
  for (const auto& known : pages_) {
    facts.push_back(
        {.size_bytes =
             known->alive ? align_up(known->options.size_bytes, memory::kBlockAlignment) : 0,
         .pool = known->options.pool,
         .movable = known->alive && known->movable(),
         .keep_resident = known->options.keep_resident});
  }
  // Staging and what other holders took is not the planner's to give.
  const auto plannable = [](const memory::Pool& pool) {
    const std::uint64_t room = pool.room_bytes();
    return room > UINT64_MAX - pool.live_bytes() ? UINT64_MAX : room + pool.live_bytes();
  };
  tracker_.make_plan(
      kind,
      {.pages = facts,
       .pool_bytes = {plannable(*options_.device_pool), plannable(*options_.host_pool)},
       .prefetch_bytes_max = options_.prefetch_bytes_max});
}

void PageTable::follow_plan(std::span<const schedule::Action> actions) {
  for (const schedule::Action& action : actions) {
    Page& target = page(action.page);
    if (!target.alive) {
      continue;
    }
    if (action.kind == schedule::Action::Kind::kDrop) {
      if (target.state == PageState::kResident && target.movable()) {
        target.drop_when_released = target.pins > 0;
        if (!target.drop_when_released) {
          evict(target);
        }
      }
    } else if (!target.queued && target.state != PageState::kResident) {
      target.queued = true;
      to_fetch_.push_back(action.page);
    }
  }
  pump_fetches();
}

void PageTable::clear_queue() {
  for (const PageId id : to_fetch_) {
    page(id).queued = false;
  }
  to_fetch_.clear();
}

void PageTable::pump_fetches() {
  while (!to_fetch_.empty() && !starving_) {
    Page& next = page(to_fetch_.front());
    // A page on its way out comes back when its write has ended; anything else that is not absent
    // needs no fetch.
    if (next.state == PageState::kWriting && next.drop_when_written) {
      return;
    }
    if (next.state == PageState::kAbsent && next.error.ok() && !start_fetch(next)) {
      return;
    }
    next.queued = false;
    to_fetch_.pop_front();
  }
}

bool PageTable::start_fetch(Page& target) {
  switch (mover_->fetch(target, io::Priority::kPrefetch)) {
    case MoveStart::kNoRoom:
    case MoveStart::kNoHostRoom:
      return false;
    case MoveStart::kFailed:
      return true;  // the operator that needs the page hears of it
    case MoveStart::kStarted:
      target.state = PageState::kFetching;
      ++in_flight_;
      break;
    case MoveStart::kDone:
      set_resident(target);
      break;
  }
  ++stats_.prefetches;
  return true;
}

void PageTable::on_moved(Page& moved, const Status& status) {
  const Lock lock(mutex_);
  --in_flight_;
  if (moved.state == PageState::kFetching) {
    finish_fetch(moved, status);
  } else {
    finish_write(moved, status);
  }
  pump_fetches();
  // Under the lock: whoever waits for the last movement may destroy the table as soon as it sees it
  // ended.
  moved_.notify_all();
}

void PageTable::finish_fetch(Page& moved, const Status& status) {
  mover_->on_finished(moved, true, status);
  if (status.ok()) {
    set_resident(moved);
    return;
  }
  moved.error = status.with_context(concat("page '", moved.options.name, "' could not be read"));
  moved.state = PageState::kAbsent;
  moved.block.release();
}

void PageTable::finish_write(Page& moved, const Status& status) {
  mover_->on_finished(moved, false, status);
  set_resident(moved);
  if (!status.ok()) {
    // The content exists only here: it stays, and whoever needed the room hears why there is none.
    moved.dirty = true;
    write_error_ =
        status.with_context(concat("page '", moved.options.name, "' could not be written"));
    log(LogLevel::kError, write_error_.to_string());
  } else if (moved.drop_when_written && moved.pins == 0 && !moved.dirty) {
    evict(moved);
  }
  moved.drop_when_written = false;
}

void PageTable::set_resident(Page& target) {
  target.state = PageState::kResident;
  if (target.movable()) {
    resident_.push_back(target.id);
  }
}

void PageTable::unset_resident(Page& target) {
  if (target.movable()) {
    const auto found = std::find(resident_.begin(), resident_.end(), target.id);
    STEPWELL_CHECK(found != resident_.end(),
                   concat("page '", target.options.name, "' is not resident"));
    *found = resident_.back();
    resident_.pop_back();
  }
}

}  // namespace stepwell::residency
