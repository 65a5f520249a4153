#include "tests/paging/paging_fixture.h"

namespace stepwell::paging {
namespace {

using zero::GatheredParameters;

class GatheredTest : public PagingTest {
 protected:
  std::shared_ptr<Service> service_ = make_service(config(OffloadDevice::kNvme, 9 * 4096));
  torch::Tensor a_ = paged(torch::zeros({64, 64}), service_, "a");
  torch::Tensor b_ = paged(torch::ones({64, 64}), service_, "b");
  torch::Tensor c_ = paged(torch::ones({64, 64}), service_, "c");
};

TEST_F(GatheredTest, ReadingCostsNoWriteAndChangesAreKept) {
  {
    const GatheredParameters gathered({a_, b_});
    EXPECT_EQ(b_.const_data_ptr<float>()[0], 1.0F);
    a_.mutable_data_ptr<float>()[77] = 5.0F;  // nobody is told
  }
  service_->pages().take_stats();
  (void)c_.sum();
  (void)b_.sum();  // a has to go out
  (void)c_.sum();
  service_->pages().settle();
  EXPECT_EQ(a_.detach().flatten()[77].item<float>(), 5.0F);
  EXPECT_EQ(a_.detach().sum().item<float>(), 5.0F);
}

TEST_F(GatheredTest, ContextsNestAndOverlap) {
  auto outer = std::make_unique<GatheredParameters>(std::vector<torch::Tensor>{a_});
  auto inner = std::make_unique<GatheredParameters>(std::vector<torch::Tensor>{a_, b_});
  outer.reset();
  a_.mutable_data_ptr<float>()[0] = 1.0F;
  inner.reset();
  EXPECT_THROW((void)a_.const_data_ptr<float>(), std::exception);
  EXPECT_EQ(a_.detach().sum().item<float>(), 1.0F);
}

TEST_F(GatheredTest, ViewsAndDuplicatesAreOnePage) {
  const GatheredParameters gathered({a_, a_.t(), a_.slice(0, 1, 2)});
  a_.t().mutable_data_ptr<float>()[0] = 2.0F;
  EXPECT_EQ(a_.const_data_ptr<float>()[0], 2.0F);
}

TEST_F(GatheredTest, TooManyAtOnceIsAnErrorThatHoldsNothing) {
  EXPECT_THROW(GatheredParameters({a_, b_, c_}), Error);
  EXPECT_EQ(torch::matmul(a_.detach(), b_.detach()).sum().item<float>(), 0.0F);
  const GatheredParameters again({b_, c_});
}

TEST_F(GatheredTest, OrdinaryTensorsAreLeftAloneAndUndefinedOnesRefused) {
  torch::Tensor plain = torch::zeros({4});
  {
    const GatheredParameters gathered({plain, a_});
    plain.mutable_data_ptr<float>()[0] = 1.0F;
  }
  EXPECT_EQ(plain[0].item<float>(), 1.0F);
  EXPECT_THROW(GatheredParameters({torch::Tensor()}), Error);
}

}  // namespace
}  // namespace stepwell::paging
