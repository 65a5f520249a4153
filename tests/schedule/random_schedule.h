// Small random schedules for property tests.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "src/schedule/schedule.h"

namespace stepwell::test {

/// `length` operators over `page_count` pages, each using one or two of them.
inline schedule::Schedule random_schedule(std::mt19937& random,
                                          std::uint32_t page_count,
                                          std::uint64_t length,
                                          bool reads_only) {
  schedule::Schedule made;
  for (std::uint64_t position = 0; position < length; ++position) {
    std::vector<schedule::PageUse> uses{
        {PageId{static_cast<std::uint32_t>(random() % page_count)}}};
    const PageId second{static_cast<std::uint32_t>(random() % page_count)};
    if (random() % 3 == 0 && second != uses.front().page) {
      uses.push_back({second});
    }
    if (!reads_only) {
      for (schedule::PageUse& use : uses) {
        use.access = static_cast<schedule::Access>(random() % 4);
      }
    }
    made.add(NameId{0}, uses, position);
  }
  return made;
}

}  // namespace stepwell::test
