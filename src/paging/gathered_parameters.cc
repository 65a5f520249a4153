#include <algorithm>
#include <array>

#include <xxhash.h>

#include "src/base/format.h"
#include "src/paging/pins.h"
#include "stepwell/log.h"
#include "stepwell/zero.h"

namespace stepwell::zero {

using paging::PagedStorage;
using residency::Hold;

// Note [What changed]
// ~~~~~~~~~~~~~~~~~~~
// Operators tell whether they write; a data pointer does not. So the bytes are hashed when they are
// gathered and when they are let go: a page whose hash differs is marked changed. Nothing is ever
// lost, and reading costs no write.

struct GatheredParameters::Gathered {
  torch::Tensor tensor;  // keeps the storage alive
  PagedStorage* storage = nullptr;
  std::byte* data = nullptr;
  XXH64_hash_t hash = 0;
};

GatheredParameters::GatheredParameters(const std::vector<torch::Tensor>& parameters) {
  for (const torch::Tensor& parameter : parameters) {
    if (!parameter.defined()) {
      throw Error(Status(StatusCode::kInvalidArgument,
                         concat("GatheredParameters: entry ", gathered_.size(), " is undefined")));
    }
    PagedStorage* storage = PagedStorage::of(parameter);
    const bool known = std::any_of(gathered_.begin(), gathered_.end(), [&](const Gathered& entry) {
      return entry.storage == storage;
    });
    if (storage != nullptr && !known) {
      gathered_.push_back({.tensor = parameter, .storage = storage});
    }
  }
  std::size_t pinned = 0;
  try {
    for (Gathered& entry : gathered_) {
      const std::array<residency::PageUse, 1> use{
          {{entry.storage->page(), residency::Access::kRead}}};
      residency::PageTable& pages = entry.storage->service()->pages();
      throw_if_error(pages.acquire(pages.operator_id("GatheredParameters"), use, Hold::kLong));
      ++pinned;
      entry.data = pages.data(entry.storage->page());
      entry.hash = XXH3_64bits(entry.data, entry.storage->size_bytes());
    }
  } catch (...) {
    gathered_.resize(pinned);
    release_all();
    throw;
  }
}

GatheredParameters::~GatheredParameters() {
  release_all();
}

void GatheredParameters::release_all() noexcept {
  for (const Gathered& entry : gathered_) {
    residency::PageTable& pages = entry.storage->service()->pages();
    if (XXH3_64bits(entry.data, entry.storage->size_bytes()) != entry.hash) {
      pages.mark_written(entry.storage->page());
    }
    const std::array<residency::PageUse, 1> use{
        {{entry.storage->page(), residency::Access::kRead}}};
    pages.release(use, Hold::kLong);
  }
  gathered_.clear();
}

}  // namespace stepwell::zero
