#include "src/paging/pins.h"

#include <algorithm>

namespace stepwell::paging {

using residency::Access;
using residency::PageUse;

void Pins::add(const torch::Tensor& tensor, bool writes) {
  PagedStorage* paged = PagedStorage::of(tensor);
  if (paged == nullptr) {
    return;
  }
  auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& known) {
    return known.service == paged->service();
  });
  if (group == groups_.end()) {
    group = groups_.insert(groups_.end(), Group{.service = paged->service()});
  }
  const auto use = std::find_if(group->uses.begin(), group->uses.end(), [&](const PageUse& known) {
    return known.page == paged->page();
  });
  if (use == group->uses.end()) {
    group->uses.push_back({paged->page(), writes ? Access::kWrite : Access::kRead});
    alive_.push_back(tensor.storage());
  } else if (writes) {
    use->access = Access::kWrite;
  }
}

void Pins::release() noexcept {
  for (Group& group : groups_) {
    if (group.pinned) {
      group.service->pages().release(group.uses, hold_);
      group.pinned = false;
    }
  }
}

}  // namespace stepwell::paging
