// The paged storages of one operator, pinned together.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "src/paging/paged_storage.h"
#include "stepwell/status.h"

namespace stepwell::paging {

/// Collects storages, pins them all or throws, and unpins at the end. Keeps the storages alive
/// meanwhile: an operator may drop the last reference to its own arguments. Used by one thread.
class Pins {
 public:
  explicit Pins(residency::Hold hold = residency::Hold::kOperator) : hold_(hold) {}
  ~Pins() { release(); }
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

  /// Ordinary and undefined tensors are passed over; a storage that is used twice is pinned once.
  void add(const torch::Tensor& tensor, bool writes);

  /// Pins everything that was added. `name_in(service)` names the operator. Throws stepwell::Error;
  /// nothing is pinned then.
  template <class NameIn>
  void acquire(NameIn&& name_in) {
    for (Group& group : groups_) {
      const Status status =
          group.service->pages().acquire(name_in(*group.service), group.uses, hold_);
      if (!status.ok()) {
        release();
        throw Error(status);
      }
      group.pinned = true;
    }
  }
  void release() noexcept;
  bool empty() const { return groups_.empty(); }

 private:
  /// Uses of one service: nearly always there is one.
  struct Group {
    std::shared_ptr<Service> service;
    std::vector<residency::PageUse> uses;
    bool pinned = false;
  };
  residency::Hold hold_;
  std::vector<Group> groups_;
  std::vector<c10::Storage> alive_;
};

}  // namespace stepwell::paging
