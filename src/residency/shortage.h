// What the page table knows while an operator waits for its pages. Private to the table's sources.
#pragma once

#include <cstdint>

#include "src/residency/page_table.h"

namespace stepwell::residency {

/// What one attempt to bring pages in found missing.
struct PageTable::Waiting {
  bool complete = true;
  const Page* no_room_for = nullptr;  // first page that found no room
  Tier short_tier = Tier::kDevice;    // where it found none
  const Page* waits_for = nullptr;    // first page that is on its way
  std::uint32_t missing = 0;          // pages that were not there at first sight
};

/// A page that found no room in a tier: what an operator needs, or what has to leave for it.
struct PageTable::Shortage {
  Tier tier = Tier::kDevice;
  const Page* page = nullptr;
  const Page* leaves_for = nullptr;  // null: the operator needs `page` itself
};

}  // namespace stepwell::residency
