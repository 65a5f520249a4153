#include "src/paging/paged_storage.h"

#include "tests/paging/paging_fixture.h"
#include "tests/support/message_of.h"

namespace stepwell::paging {
namespace {

using residency::PageState;

using test::message_of;

TEST_F(PagingTest, UnmanagedAccessToAnAbsentPageNamesTheParameter) {
  const auto service = make_service(config(OffloadDevice::kNvme, kMiB));
  const torch::Tensor weight = paged(torch::randn({32, 32}), service, "h.0.weight");
  for (const std::string& message : {message_of([&] { (void)weight.const_data_ptr<float>(); }),
                                     message_of([&] { (void)weight.mutable_data_ptr<float>(); }),
                                     message_of([&] { (void)weight.data_ptr(); }),
                                     message_of([&] { (void)weight.t().const_data_ptr<float>(); }),
                                     message_of([&] { (void)weight.storage().data(); })}) {
    EXPECT_NE(message.find("'h.0.weight' is not in memory now"), std::string::npos) << message;
    EXPECT_NE(message.find("GatheredParameters"), std::string::npos) << message;
  }
}

TEST_F(PagingTest, AbsentWeightNeverBroadcasts) {
  // An absent parameter keeps its sizes: against a dimension of one it must not turn into an empty
  // result.
  const auto service = make_service(config(OffloadDevice::kNvme, kMiB));
  const torch::Tensor plain = torch::randn({64, 64});
  const torch::Tensor weight = paged(plain, service, "external");
  const torch::Tensor one = torch::ones({1, 1});
  EXPECT_TRUE(torch::equal((one * weight).detach(), plain));
  EXPECT_EQ(weight.sizes(), plain.sizes());
  EXPECT_TRUE(torch::equal((weight + one).sum(), (plain + one).sum()));
}

TEST_F(PagingTest, PageDiesWithItsLastTensor) {
  const auto service = make_service(config(OffloadDevice::kNvme, kMiB));
  torch::Tensor view;
  {
    const torch::Tensor weight = paged(torch::randn({64, 64}), service, "w");
    view = weight.t();
    EXPECT_EQ(service->pages().page_count(), 1U);
  }
  EXPECT_EQ(service->pages().page_count(), 1U) << "a view keeps the storage alive";
  view = torch::Tensor();
  EXPECT_EQ(service->pages().page_count(), 0U);
}

TEST_F(PagingTest, PagesOutliveTheHandleOfTheService) {
  torch::Tensor weight;
  const torch::Tensor plain = torch::randn({64, 64});
  {
    const auto service = make_service(config(OffloadDevice::kNvme, 5 * 4096));
    weight = paged(plain, service, "w");
  }
  EXPECT_TRUE(torch::equal(weight.detach().clone(), plain));
  EXPECT_EQ(folder_.entry_count(), 1U);
  weight = torch::Tensor();
  EXPECT_EQ(folder_.entry_count(), 0U) << "the swap file goes with the last page";
}

TEST_F(PagingTest, WithoutOffloadTheTensorStaysAnOrdinaryOne) {
  const auto service = make_service(config(OffloadDevice::kNone, kMiB));
  const torch::Tensor plain = torch::randn({64, 64});
  const torch::Tensor weight = paged(plain, service, "w");
  EXPECT_FALSE(weight.key_set().has(kPagedKey)) << "no interception is paid for";
  EXPECT_EQ(std::memcmp(weight.const_data_ptr(), plain.const_data_ptr(), plain.nbytes()), 0);
  EXPECT_EQ(state_of(weight), PageState::kResident);
}

TEST_F(PagingTest, ArenaThatCannotHoldTheModelWithoutOffloadSaysSo) {
  const auto service = make_service(config(OffloadDevice::kNone, 6 * 4096));
  const torch::Tensor first = paged(torch::randn({64, 64}), service, "first");
  const std::string message = message_of([&] { paged(torch::randn({64, 64}), service, "second"); });
  EXPECT_NE(message.find("second"), std::string::npos) << message;
  EXPECT_NE(message.find("stepwell.memory.device_bytes"), std::string::npos) << message;
}

TEST_F(PagingTest, FolderThatIsMissingIsNamed) {
  Config wrong = config(OffloadDevice::kNvme, kMiB);
  wrong.zero.offload_param.nvme_path = folder_.file("nowhere");
  const std::string message = message_of([&] { make_service(wrong); });
  EXPECT_NE(message.find(folder_.file("nowhere")), std::string::npos) << message;
}

}  // namespace
}  // namespace stepwell::paging
