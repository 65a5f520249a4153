// The recorded step: which pages each operator used, in order, and how long it ran. Plain data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepwell/ids.h"

namespace stepwell::schedule {

/// How an operator uses a page.
enum class Access : std::uint8_t {
  kRead,       // content needed, not changed
  kWrite,      // content needed, changed
  kOverwrite,  // content not needed: every byte that matters is written
  kConsume,    // content needed, and dead afterwards: the page is empty once it is released
};

struct PageUse {
  PageId page;
  Access access = Access::kRead;
  friend bool operator==(const PageUse&, const PageUse&) = default;
};

/// One position of a schedule: an operator and the pages it needs at once.
struct Position {
  std::uint32_t first_use = 0;  // into Schedule::uses
  std::uint32_t use_count = 0;
  NameId operator_name;
  std::uint64_t start_ns = 0;     // since the start of the step
  std::uint64_t duration_ns = 0;  // of the operator itself, waiting excluded
};

/// Value type; thread-compatible.
struct Schedule {
  std::vector<Position> positions;
  std::vector<PageUse> uses;

  std::span<const PageUse> uses_of(std::size_t position) const {
    const Position& at = positions[position];
    return {uses.data() + at.first_use, at.use_count};
  }
  /// Same pages with the same access in the same order (times and names aside).
  bool same_uses(const Schedule& other) const;
  /// Appends a position.
  void add(NameId operator_name, std::span<const PageUse> used, std::uint64_t start_ns);
  void clear();
};

}  // namespace stepwell::schedule
