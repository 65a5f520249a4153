// A service on a temporary folder and tensors that live in it.
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "src/paging/paged_storage.h"
#include "src/paging/service.h"
#include "stepwell/zero.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::paging {

class PagingTest : public testing::Test {
 protected:
  Config config(OffloadDevice home, std::uint64_t device_bytes) const {
    Config made;
    made.zero.stage = 3;
    made.zero.offload_param = {.device = home, .nvme_path = folder_.path().string()};
    made.zero.param_persistence_threshold = 0;
    made.stepwell.device_bytes = device_bytes;
    made.stepwell.host_bytes = 64 * kMiB;
    return made;
  }
  /// `tensor` as a leaf whose bytes are a page called `name`.
  static torch::Tensor paged(const torch::Tensor& tensor,
                             const std::shared_ptr<Service>& service,
                             const std::string& name,
                             bool requires_grad = true) {
    torch::Tensor leaf = tensor.detach().clone();
    throw_if_error(PagedStorage::manage(
        leaf.storage(), service, name, static_cast<std::uint64_t>(leaf.numel()), false));
    add_paged_key(leaf);
    leaf.set_requires_grad(requires_grad);
    return leaf;
  }
  static residency::PageState state_of(const torch::Tensor& tensor) {
    const PagedStorage* storage = PagedStorage::of(tensor);
    return storage->service()->pages().state(storage->page());
  }

  test::TemporaryFolder folder_;
};

}  // namespace stepwell::paging
