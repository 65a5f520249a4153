#include "src/schedule/next_use.h"

#include <algorithm>

namespace stepwell::schedule {

NextUseIndex::NextUseIndex(const Schedule& schedule) : length_(schedule.positions.size()) {
  for (std::uint32_t position = 0; position < length_; ++position) {
    for (const PageUse& use : schedule.uses_of(position)) {
      auto& list = positions_[use.page];
      if (list.empty() || list.back() != position) {
        list.push_back(position);
      }
    }
  }
}

std::uint64_t NextUseIndex::at_or_after(PageId page, std::uint64_t position) const {
  const auto found = positions_.find(page);
  if (found == positions_.end()) {
    return kNever;
  }
  const auto next = std::lower_bound(found->second.begin(), found->second.end(), position);
  return next == found->second.end() ? kNever : *next;
}

std::uint64_t NextUseIndex::distance(PageId page, std::uint64_t position) const {
  const auto found = positions_.find(page);
  if (found == positions_.end()) {
    return kNever;
  }
  const std::uint64_t wrapped = length_ == 0 ? 0 : position % length_;
  const auto next = std::lower_bound(found->second.begin(), found->second.end(), wrapped);
  if (next != found->second.end()) {
    return *next - wrapped;
  }
  return length_ - wrapped + found->second.front();
}

}  // namespace stepwell::schedule
