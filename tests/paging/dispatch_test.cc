#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "tests/paging/paging_fixture.h"

namespace stepwell::paging {
namespace {

using residency::PageState;

class DispatchTest : public PagingTest {
 protected:
  /// Room for one 64 x 64 matrix and one block.
  std::shared_ptr<Service> small_service() {
    return make_service(config(OffloadDevice::kNvme, 5 * 4096));
  }
};

TEST_F(DispatchTest, OperatorsSeeTheRightBytesThoughOnlyOneFits) {
  const auto service = small_service();
  const torch::Tensor a = torch::randn({64, 64});
  const torch::Tensor b = torch::randn({64, 64});
  const torch::Tensor pa = paged(a, service, "a");
  const torch::Tensor pb = paged(b, service, "b");
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(torch::equal(pa.sum(), a.sum()));
    EXPECT_TRUE(torch::equal(pb.sum(), b.sum()));
    EXPECT_TRUE(torch::equal(torch::matmul(a, pb.t()), torch::matmul(a, b.t())));
  }
  EXPECT_GT(service->pages().take_stats().moved.nvme_read_bytes, 0U);
}

TEST_F(DispatchTest, InPlaceChangesSurviveEviction) {
  const auto service = small_service();
  torch::Tensor a = paged(torch::zeros({64, 64}), service, "a", false);
  torch::Tensor b = paged(torch::zeros({64, 64}), service, "b", false);
  a.add_(1);
  b.add_(2);
  a.t().mul_(3);  // through a view
  a.slice(0, 0, 1).fill_(7);
  torch::Tensor out = a.select(0, 5);  // out= through a view
  torch::add_out(out, torch::ones({64}), torch::ones({64}));
  torch::Tensor expected = torch::full({64, 64}, 3.0);
  expected.slice(0, 0, 1).fill_(7);
  expected.select(0, 5).fill_(2);
  EXPECT_TRUE(torch::equal(a.clone(), expected));
  EXPECT_TRUE(torch::equal(b.clone(), torch::full({64, 64}, 2.0)));
}

TEST_F(DispatchTest, ListsAndOptionalTensorsAreSeen) {
  const auto service = make_service(config(OffloadDevice::kNvme, 8 * 4096));
  const torch::Tensor a = torch::randn({32, 64});
  const torch::Tensor index = torch::arange(0, 32, 2);
  const torch::Tensor pa = paged(a, service, "a");
  const torch::Tensor pb = paged(a, service, "b");
  EXPECT_TRUE(torch::equal(torch::cat({pa, pb}), torch::cat({a, a})));
  EXPECT_TRUE(torch::equal(torch::stack({pa, pb}), torch::stack({a, a})));
  EXPECT_TRUE(torch::equal(pa.index({index}), a.index({index})));
  const torch::Tensor where = paged(torch::arange(0, 2048) % 32, service, "index", false);
  EXPECT_TRUE(torch::equal(a.index({where}), a.index({where.clone()}))) << "Tensor?[]";
  const torch::Tensor bias = torch::randn({32});
  EXPECT_TRUE(torch::equal(torch::linear(a, pa, bias), torch::linear(a, a, bias)));
  EXPECT_TRUE(
      torch::equal(torch::layer_norm(a, {32, 64}, pa, pb), torch::layer_norm(a, {32, 64}, a, a)));
}

TEST_F(DispatchTest, PureViewsDoNotFault) {
  const auto service = small_service();
  const torch::Tensor a = paged(torch::randn({64, 64}), service, "a");
  const torch::Tensor b = paged(torch::randn({64, 64}), service, "b");
  (void)b.sum();
  ASSERT_EQ(state_of(a), PageState::kAbsent);
  (void)a.view({-1}).slice(0, 1, 9).unsqueeze(0).detach();
  (void)a.t().select(0, 3).expand({2, 64});
  EXPECT_EQ(state_of(a), PageState::kAbsent);
}

TEST_F(DispatchTest, GradientsOfViewsAndInPlaceAreThoseOfPlainTensors) {
  const auto service = small_service();
  const torch::Tensor plain = torch::randn({64, 64}).set_requires_grad(true);
  const torch::Tensor other = paged(torch::randn({64, 64}), service, "other");
  const torch::Tensor weight = paged(plain, service, "weight");
  const auto loss_of = [&](const torch::Tensor& w) {
    return (torch::matmul(w.narrow(0, 0, 32), w.t()).tanh() * other.select(0, 0)).square().mean();
  };
  loss_of(plain).backward();
  loss_of(weight).backward();
  EXPECT_TRUE(torch::equal(plain.grad(), weight.grad()));
  EXPECT_FALSE(weight.grad().key_set().has(kPagedKey));
}

TEST_F(DispatchTest, BudgetTooSmallForOneOperatorNamesEverythingAndGoesOn) {
  const auto service = make_service(config(OffloadDevice::kNvme, 5 * 4096));
  const torch::Tensor plain = torch::randn({64, 64});
  const torch::Tensor left = paged(plain, service, "left");
  const torch::Tensor right = paged(plain, service, "right");
  try {
    (void)torch::matmul(left, right);
    FAIL() << "two pages of four blocks cannot be in an arena of five";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::kBudgetExceeded);
    const std::string message = error.what();
    for (const char* part : {"aten::matmul",
                             "'left' 16 KiB",
                             "'right' 16 KiB",
                             "32 KiB",
                             "20 KiB",
                             "stepwell.memory.device_bytes to at least 32768"}) {
      EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
    }
  }
  EXPECT_TRUE(torch::equal(left.detach().clone(), plain)) << "the process goes on";
}

TEST_F(DispatchTest, FlippedBitInTheSwapFileIsNeverUsed) {
  const auto service = small_service();
  const torch::Tensor plain = torch::randn({64, 64});
  const torch::Tensor weight = paged(plain, service, "h.3.attn.weight");
  const torch::Tensor other = paged(plain, service, "other");
  (void)other.sum();  // pushes the weight out
  service->pages().settle();
  std::string path;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    path = entry.path().string();
  }
  // The extent is found by its content.
  const int fd = ::open(path.c_str(), O_RDWR);
  std::vector<char> bytes(static_cast<std::size_t>(std::filesystem::file_size(path)));
  ASSERT_EQ(::pread(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  int flipped = 0;
  for (std::size_t at = 0; at + plain.nbytes() <= bytes.size(); at += 4096) {
    if (std::memcmp(bytes.data() + at, plain.const_data_ptr(), plain.nbytes()) == 0) {
      const char wrong = static_cast<char>(bytes[at + 100] ^ 4);
      ASSERT_EQ(::pwrite(fd, &wrong, 1, static_cast<off_t>(at + 100)), 1);
      ++flipped;
    }
  }
  ::close(fd);
  ASSERT_GT(flipped, 0);
  try {
    (void)weight.sum();
    FAIL() << "wrong bytes were used";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::kCorrupt);
    EXPECT_NE(std::string(error.what()).find("h.3.attn.weight"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
  }
}

TEST_F(DispatchTest, SeveralThreadsUsePagesAtOnce) {
  const auto service = make_service(config(OffloadDevice::kNvme, 13 * 4096));
  std::vector<torch::Tensor> plain, weights;
  for (int index = 0; index < 6; ++index) {
    plain.push_back(torch::full({64, 64}, index));
    weights.push_back(paged(plain.back(), service, "w" + std::to_string(index), false));
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 60; ++round) {
        const auto index = static_cast<std::size_t>((round * (thread + 1) + thread) % 6);
        wrong += torch::equal(weights[index].clone(), plain[index]) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace stepwell::paging
