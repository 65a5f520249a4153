#include "tests/paging/paging_fixture.h"

namespace stepwell::paging {
namespace {

using residency::PageState;

/// Four layers of 256 KiB each.
struct Stack : torch::nn::Module {
  Stack() {
    layers = register_module("layers", torch::nn::Sequential());
    for (int index = 0; index < 4; ++index) {
      layers->push_back(torch::nn::Linear(256, 256));
    }
    embedding = register_module("embedding", torch::nn::Embedding(100, 64));
    const torch::NoGradGuard no_grad;
    embedding->weight.mul_(0.5);
    register_buffer("positions", torch::arange(4096));
  }
  torch::Tensor forward(const torch::Tensor& x) { return layers->forward(x); }
  torch::nn::Sequential layers;
  torch::nn::Embedding embedding{nullptr};
};

TEST_F(PagingTest, ModelLargerThanTheArenaIsConstructedWithTheSameValues) {
  torch::manual_seed(9);
  Stack plain;
  std::shared_ptr<Stack> paged_stack;
  std::shared_ptr<Service> service;
  torch::manual_seed(9);
  {
    const zero::Init init(config(OffloadDevice::kNvme, 300 * kKiB));
    service = init.service();
    paged_stack = std::make_shared<Stack>();
  }
  const auto expected = plain.parameters();
  const auto found = paged_stack->parameters();
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t index = 0; index < found.size(); ++index) {
    EXPECT_TRUE(torch::equal(found[index].detach().clone(), expected[index].detach())) << index;
    EXPECT_TRUE(found[index].is_leaf() && found[index].requires_grad());
  }
  EXPECT_LE(service->memory_report().tiers[0].peak_bytes, 300 * kKiB);
  EXPECT_GE(service->memory_report().page_bytes, 4 * 256 * kKiB);
  const torch::Tensor x = torch::randn({3, 256});
  EXPECT_TRUE(torch::equal(paged_stack->forward(x), plain.forward(x)));
  EXPECT_TRUE(torch::equal(paged_stack->buffers()[0].clone(), plain.buffers()[0]));
}

TEST_F(PagingTest, InitEndsWithItsScopeAndNests) {
  const Config wanted = config(OffloadDevice::kNvme, kMiB);
  {
    const zero::Init outer(wanted);
    {
      const zero::Init inner(wanted);
      EXPECT_EQ(inner.service(), outer.service());
    }
    EXPECT_NE(PagedStorage::of(torch::zeros({64, 64})), nullptr) << "the outer one goes on";
    EXPECT_EQ(PagedStorage::of(torch::zeros({4})), nullptr) << "small tensors stay ordinary";
  }
  EXPECT_EQ(PagedStorage::of(torch::zeros({64, 64})), nullptr);
}

TEST_F(PagingTest, InitLeavesTheThreadCleanAfterAnException) {
  try {
    const zero::Init init(config(OffloadDevice::kNvme, 8 * 4096));
    torch::zeros({256, 256});
    FAIL() << "256 KiB do not fit into 32 KiB";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::kBudgetExceeded) << error.what();
  }
  EXPECT_EQ(PagedStorage::of(torch::zeros({64, 64})), nullptr);
  EXPECT_EQ(folder_.entry_count(), 0U);
}

}  // namespace
}  // namespace stepwell::paging
