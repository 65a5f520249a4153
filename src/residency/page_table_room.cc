// The part of the page table that makes room, and says why there is none.
#include <algorithm>
#include <string>
#include <utility>

#include "src/base/format.h"
#include "src/residency/page_table.h"
#include "src/residency/shortage.h"
#include "stepwell/bytes.h"

namespace stepwell::residency {

// Note [Room]
// ~~~~~~~~~~~
// Room is made in three ways: a clean page is dropped at once; a dirty one is written first and
// dropped when the write has ended; on unified memory a page with a host home is handed to the
// host's account at once. An operator that lacks room first takes what can be had at once, then
// waits for writes in flight or for other operators to end. Only when neither exists is the budget
// too small, and then the error says by how much. Prefetch never waits and never takes room while
// an operator starves.

/// Something was missing: make room, wait, or say why neither helps.
Status PageTable::resolve_shortage(Lock& lock,
                                   const Waiting& waiting,
                                   std::span<const PageUse> uses) {
  for (const PageUse& use : uses) {
    Page& failed = page(use.page);
    if (!failed.error.ok()) {
      return std::exchange(failed.error, Status());
    }
  }
  if (waiting.no_room_for != nullptr) {
    if (!write_error_.ok()) {
      return std::exchange(write_error_, Status());
    }
    starving_ = true;
    Shortage shortage{.tier = waiting.short_tier, .page = waiting.no_room_for};
    if (make_room(shortage)) {
      return {};
    }
    if (!write_error_.ok()) {
      return std::exchange(write_error_, Status());
    }
    if (in_flight_ == 0 && operator_holds_ == 0) {
      return shortage.leaves_for == nullptr ? budget_error(shortage, uses)
                                            : no_way_out_error(shortage);
    }
  } else if (waiting.waits_for == nullptr) {
    return {};
  }
  moved_.wait(lock);
  return {};
}

/// Drops or begins to write pages until there is room or will be. True when trying again is
/// worthwhile now; else `shortage` says what stands in the way.
bool PageTable::make_room(Shortage& shortage) {
  const Tier tier = shortage.tier;
  std::uint64_t coming = 0;
  for (const auto& other : pages_) {
    if (other->state == PageState::kWriting && other->drop_when_written && other->pins == 0 &&
        other->options.pool == tier) {
      coming += other->block.capacity_bytes();
    }
  }
  const std::uint64_t needed = align_up(shortage.page->options.size_bytes, memory::kBlockAlignment);
  bool freed = false;
  while (pool_of(tier).room_bytes() + coming < needed) {
    Page* victim = choose_victim(tier);
    if (victim == nullptr) {
      break;
    }
    if (!evict(*victim)) {
      // On its way out, or at home, it needs a block of the host; there pages go out without one.
      if (freed || tier == Tier::kHost || !write_error_.ok()) {
        return freed;
      }
      shortage = {.tier = Tier::kHost, .page = victim, .leaves_for = shortage.page};
      return make_room(shortage);
    }
    if (victim->state == PageState::kWriting) {
      coming += victim->block.capacity_bytes();
    } else {
      freed = true;
    }
  }
  return freed || pool_of(tier).has_room(needed);
}

/// Starts to take an unpinned resident page away. False when that cannot even begin.
bool PageTable::evict(Page& victim) {
  if (victim.dirty && mover_->needs_write_back(victim)) {
    switch (mover_->write_back(victim)) {
      case MoveStart::kNoRoom:
      case MoveStart::kNoHostRoom:
        return false;
      case MoveStart::kFailed:
        write_error_ = std::exchange(victim.error, Status());
        return false;
      case MoveStart::kStarted:
        unset_resident(victim);
        victim.state = PageState::kWriting;
        victim.drop_when_written = true;
        victim.dirty = false;
        ++in_flight_;
        return true;
      case MoveStart::kDone:
        break;
    }
  }
  if (mover_->take_away(victim) != MoveStart::kDone) {
    return false;
  }
  unset_resident(victim);
  victim.dirty = false;
  victim.state = PageState::kAbsent;
  return true;
}

/// The operator that would have overwritten the page does not run: what is at home counts.
void PageTable::undo_overwrite(Page& target) {
  if (target.overwriting) {
    target.overwriting = false;
    unset_resident(target);
    target.block.release();
    target.dirty = false;
    target.state = PageState::kAbsent;
  }
}

/// Farthest next use, clean before dirty; least recently used among pages with no known use.
Page* PageTable::choose_victim(Tier pool) {
  Page* best = nullptr;
  std::uint64_t best_distance = 0;
  for (const PageId id : resident_) {
    Page& candidate = page(id);
    if (candidate.pins > 0 || candidate.options.pool != pool) {
      continue;
    }
    const std::uint64_t distance = candidate.options.keep_resident ? 0 : tracker_.distance(id);
    const bool better =
        best == nullptr || distance > best_distance ||
        (distance == best_distance &&
         (candidate.dirty != best->dirty ? !candidate.dirty : candidate.last_use < best->last_use));
    if (better) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best;
}

Status PageTable::budget_error(const Shortage& shortage, std::span<const PageUse> uses) const {
  const Page& wanted = *shortage.page;
  const Tier tier = shortage.tier;
  memory::Pool& pool = pool_of(tier);
  std::uint64_t needed = 0;
  std::uint64_t on_the_way = 0;  // one page at a time passes through the host
  std::string list;
  for (const PageUse& use : uses) {
    const Page& used = page(use.page);
    const std::uint64_t bytes = align_up(used.options.size_bytes, memory::kBlockAlignment);
    if (used.options.pool == tier || tier == Tier::kHost) {
      if (used.options.pool == tier) {
        needed += bytes;
      } else {
        on_the_way = std::max(on_the_way, bytes);
      }
      list += concat(list.empty() ? "" : ", ",
                     "'",
                     used.options.name,
                     "' ",
                     format_bytes(used.options.size_bytes));
    }
  }
  needed += on_the_way;
  std::uint64_t fixed = 0;
  std::uint64_t held = 0;
  for (const auto& other : pages_) {
    fixed += tier == Tier::kHost ? other->home_block.capacity_bytes() : 0;
    if (other->block && other->options.pool == tier && other->alive) {
      const bool of_this = std::any_of(
          uses.begin(), uses.end(), [&](const PageUse& use) { return use.page == other->id; });
      fixed += !of_this && !other->movable() ? other->block.capacity_bytes() : 0;
      held += !of_this && other->movable() && other->pins > 0 ? other->block.capacity_bytes() : 0;
    }
  }
  const memory::Budget::Usage usage = pool.budget().usage();
  return {StatusCode::kBudgetExceeded,
          concat("no room on the ",
                 to_string(tier),
                 " for '",
                 wanted.options.name,
                 "' (",
                 format_bytes(wanted.options.size_bytes),
                 "): the operator needs ",
                 list,
                 " at once = ",
                 format_bytes(needed),
                 "; always resident ",
                 format_bytes(fixed),
                 ", held by others ",
                 format_bytes(held),
                 ", budget ",
                 format_bytes(usage.limit_bytes),
                 ". Raise stepwell.memory.",
                 to_string(tier),
                 "_bytes to at least ",
                 needed + fixed + held,
                 fixed > 0 ? ", or let what is always resident leave (offload_param, "
                             "offload_optimizer: cpu or nvme)"
                           : "",
                 " (",
                 pool.budget().table(),
                 ")")};
}

Status PageTable::no_way_out_error(const Shortage& shortage) const {
  memory::Pool& pool = pool_of(shortage.tier);
  const Page& leaving = *shortage.page;
  return {StatusCode::kBudgetExceeded,
          concat("'",
                 leaving.options.name,
                 "' (",
                 format_bytes(leaving.options.size_bytes),
                 ") has to leave the ",
                 to_string(leaving.options.pool),
                 " for '",
                 shortage.leaves_for->options.name,
                 "', but the ",
                 to_string(shortage.tier),
                 " has no room for it: budget ",
                 format_bytes(pool.budget().limit_bytes()),
                 ", in use ",
                 format_bytes(pool.live_bytes()),
                 ". Raise stepwell.memory.",
                 to_string(shortage.tier),
                 "_bytes to at least ",
                 pool.live_bytes() + align_up(leaving.options.size_bytes, memory::kBlockAlignment),
                 " (",
                 pool.budget().table(),
                 ")")};
}

}  // namespace stepwell::residency
