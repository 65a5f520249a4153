// Resident memory, as the kernel counts it, stays within the budgets plus a stated constant.
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "stepwell/bytes.h"
#include "stepwell/stepwell.h"
#include "tests/support/temporary_folder.h"

namespace stepwell {
namespace {

/// A value of /proc/self/status in bytes.
std::uint64_t status_bytes(const std::string& wanted) {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    std::uint64_t kib = 0;
    if (key == wanted + ":" && status >> kib) {
      return kib * kKiB;
    }
    std::string rest;
    std::getline(status, rest);
  }
  return 0;
}

/// Sixteen layers of 4 MiB: 64 MiB of weights, 256 MiB with gradients and moments.
struct Deep : torch::nn::Module {
  Deep() {
    for (int index = 0; index < 16; ++index) {
      layers->push_back(torch::nn::Linear(torch::nn::LinearOptions(1024, 1024).bias(false)));
    }
    register_module("layers", layers);
  }
  torch::Tensor forward(torch::Tensor x) {
    for (auto& layer : *layers) {
      x = torch::tanh(layer.forward(x));
    }
    return x.square().mean();
  }
  torch::nn::Sequential layers;
};

TEST(MemoryBound, ResidentMemoryStaysWithinTheBudgets) {
  // What is not paged: activations, the largest gradient and its copy, buffers of the matrix
  // library and of the allocator.
  constexpr std::uint64_t kConstant = 64 * kMiB;
  const test::TemporaryFolder folder;
  Config config;
  config.has_optimizer = true;
  config.zero.stage = 3;
  config.zero.offload_param = {.device = OffloadDevice::kNvme, .nvme_path = folder.path().string()};
  config.zero.offload_optimizer = config.zero.offload_param;
  config.stepwell.device_bytes = 16 * kMiB;
  config.stepwell.host_bytes = 32 * kMiB;
  config.stepwell.tile_elements = 1 << 20;
  {
    // Loads what LibTorch loads at first use, so that it is not counted.
    torch::nn::Linear warm(1024, 1024);
    warm(torch::randn({8, 1024})).square().mean().backward();
  }
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak starts again from here
  const std::uint64_t before = status_bytes("VmRSS");
  if (status_bytes("VmHWM") > before + kMiB) {
    GTEST_SKIP() << "the kernel does not let a process reset its peak of resident memory";
  }
  std::shared_ptr<Deep> net;
  {
    const zero::Init init(config);
    net = std::make_shared<Deep>();
  }
  auto engine = initialize(net, config);
  for (int step = 0; step < 3; ++step) {
    engine->backward(engine->forward(torch::randn({8, 1024})));
    engine->step();
  }
  const std::uint64_t grown = status_bytes("VmHWM") - before;
  EXPECT_LE(grown, config.stepwell.device_bytes + config.stepwell.host_bytes + kConstant);
  EXPECT_GE(engine->memory_report().page_bytes, 256 * kMiB) << "the model is larger than the bound";
  for (const TierReport& tier : engine->memory_report().tiers) {
    EXPECT_LE(tier.peak_bytes, tier.limit_bytes) << to_string(tier.tier);
  }
}

}  // namespace
}  // namespace stepwell
