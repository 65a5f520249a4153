// The engine's own rules: what it refuses, what it never does (faults of other systems, by the
// names of their cases).
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "stepwell/bytes.h"
#include "stepwell/stepwell.h"
#include "tests/support/message_of.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_folder.h"

namespace stepwell {
namespace {

constexpr std::int64_t kWidth = 64;

struct TwoLayers : torch::nn::Module {
  TwoLayers() {
    first = register_module("first", torch::nn::Linear(kWidth, kWidth));
    second = register_module("second", torch::nn::Linear(kWidth, kWidth));
  }
  torch::Tensor forward(const torch::Tensor& x, bool both) {
    const torch::Tensor hidden = torch::tanh(first(x));
    return (both ? second(hidden) : hidden).to(torch::kFloat32).square().mean();
  }
  torch::nn::Linear first{nullptr}, second{nullptr};
};

class EngineTest : public testing::TestWithParam<OffloadDevice> {
 protected:
  Config config(Precision precision = Precision::kFp32) const {
    Config made;
    made.has_optimizer = true;
    made.gradient_clipping = 0;
    made.precision = precision;
    made.optimizer.lr = 1e-2;
    made.zero.stage = 3;
    made.zero.param_persistence_threshold = 0;
    made.zero.offload_param = {.device = GetParam(), .nvme_path = folder_.path().string()};
    made.zero.offload_optimizer = {.device = GetParam(), .nvme_path = folder_.path().string()};
    made.stepwell.tile_elements = 16384;
    return made;
  }
  static torch::Tensor input(Precision precision = Precision::kFp32) {
    const torch::Tensor x = torch::randn({4, kWidth}, at::detail::createCPUGenerator(3));
    return precision == Precision::kBf16 ? x.to(torch::kBFloat16) : x;
  }

  test::TemporaryFolder folder_;
};

using test::message_of;

TEST_P(EngineTest, G4UnusedParameterIsNotUpdatedWithAnOldGradient) {
  auto engine = initialize(std::make_shared<TwoLayers>(), config());
  engine->backward(engine->forward(input(), true));
  engine->step();
  const torch::Tensor weight = engine->get_full_fp32_param("second.weight");
  const torch::Tensor moment = engine->get_full_optimizer_state("second.weight", "exp_avg");
  for (int step = 0; step < 3; ++step) {
    engine->backward(engine->forward(input(), false));
    EXPECT_FALSE(engine->get_full_grad("second.weight").has_value());
    EXPECT_TRUE(engine->get_full_grad("first.weight").has_value());
    engine->step();
  }
  EXPECT_TRUE(torch::equal(engine->get_full_fp32_param("second.weight"), weight));
  EXPECT_TRUE(torch::equal(engine->get_full_optimizer_state("second.weight", "exp_avg"), moment));
}

TEST_P(EngineTest, G41GatheredChangesReachTheMasterCopy) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    auto engine = initialize(std::make_shared<TwoLayers>(), config(precision));
    torch::Tensor weight = engine->module().first->weight;
    const torch::Tensor before = engine->get_full_fp32_param("first.weight");
    {
      const zero::GatheredParameters gathered({weight});
      if (precision == Precision::kBf16) {
        weight.mutable_data_ptr<at::BFloat16>()[5] = at::BFloat16(3.0F);
      } else {
        weight.mutable_data_ptr<float>()[5] = 3.0F;
      }
    }
    torch::Tensor expected = before.clone();
    expected.flatten()[5] = 3.0F;
    EXPECT_TRUE(torch::equal(engine->get_full_fp32_param("first.weight"), expected));
    engine->backward(engine->forward(input(precision), true));
    engine->step();
    const torch::Tensor after = engine->get_full_fp32_param("first.weight");
    EXPECT_NEAR(after.flatten()[5].item<float>(), 3.0F, 0.05F) << "the change was lost in the step";
    EXPECT_LT((after - expected).abs().max().item<float>(), 0.05F);
  }
}

TEST_P(EngineTest, ModuleMovedAfterInitializeIsNoticed) {
  auto engine = initialize(std::make_shared<TwoLayers>(), config());
  engine->module().first->weight.set_data(torch::zeros({kWidth, kWidth}));
  const std::string message = message_of([&] { engine->forward(input(), true); });
  EXPECT_NE(message.find("first.weight"), std::string::npos) << message;
  EXPECT_NE(message.find("before initialize()"), std::string::npos) << message;
}

TEST_P(EngineTest, GradientThatIsNotFiniteSkipsTheStepAndChangesNothing) {
  auto engine = initialize(std::make_shared<TwoLayers>(), config());
  const torch::Tensor weight = engine->get_full_fp32_param("first.weight");
  torch::Tensor bad = input();
  bad[0][0] = std::numeric_limits<float>::quiet_NaN();
  engine->backward(engine->forward(bad, true));
  engine->step();
  EXPECT_FALSE(engine->was_step_applied());
  EXPECT_EQ(engine->skipped_steps(), 1U);
  EXPECT_EQ(engine->global_steps(), 1U);
  EXPECT_TRUE(torch::equal(engine->get_full_fp32_param("first.weight"), weight));
  engine->backward(engine->forward(input(), true));
  engine->step();
  EXPECT_TRUE(engine->was_step_applied());
  EXPECT_FALSE(torch::equal(engine->get_full_fp32_param("first.weight"), weight));
}

TEST_P(EngineTest, WrongUseIsRefusedByName) {
  auto engine = initialize(std::make_shared<TwoLayers>(), config());
  EXPECT_NE(message_of([&] { engine->backward(torch::zeros({3})); }).find("3"), std::string::npos);
  EXPECT_NE(message_of([&] { engine->get_full_fp32_param("third"); }).find("'third'"),
            std::string::npos);
  EXPECT_NE(
      message_of([&] { engine->get_full_optimizer_state("first.weight", "m"); }).find("exp_avg_sq"),
      std::string::npos);
  Config untrained = config();
  untrained.has_optimizer = false;
  auto only_paged = initialize(std::make_shared<TwoLayers>(), untrained);
  EXPECT_NO_THROW(only_paged->forward(input(), true));
  EXPECT_NE(message_of([&] { only_paged->step(); }).find("optimizer"), std::string::npos);
}

TEST_P(EngineTest, WhatCannotTrainRightIsRefused) {
  auto module = std::make_shared<TwoLayers>();
  module->second->bias.requires_grad_(false);
  auto engine = initialize(module, config());
  for (const double lr : {std::nan(""), -1.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_NE(message_of([&] { engine->set_lr(lr); }).find("learning rate"), std::string::npos);
  }
  EXPECT_EQ(engine->get_lr(), 1e-2);
  EXPECT_NE(message_of([&] { engine->step(); }).find("without a backward()"), std::string::npos);
  EXPECT_EQ(engine->global_steps(), 0U);
  const std::string twice = message_of([&] { initialize(module, config()); });
  EXPECT_NE(twice.find("first.weight"), std::string::npos) << twice;
  EXPECT_NE(twice.find("another engine"), std::string::npos) << twice;
  EXPECT_NE(message_of([&] {
              engine->get_full_optimizer_state("second.bias", "exp_avg");
            }).find("is not trained"),
            std::string::npos);
  module->second->bias.requires_grad_(true);
  const std::string unfrozen = message_of([&] { engine->forward(input(), true); });
  EXPECT_NE(unfrozen.find("second.bias"), std::string::npos) << unfrozen;
  engine.reset();
  EXPECT_NO_THROW(initialize(module, config())) << "the first engine is gone";
}

TEST_P(EngineTest, OtherBudgetsThanThoseOfInitAreRefused) {
  Config first = config();
  first.stepwell.host_bytes = 8 * kMiB;
  std::shared_ptr<TwoLayers> module;
  {
    const zero::Init init(first);
    module = std::make_shared<TwoLayers>();
  }
  Config second = first;
  second.stepwell.host_bytes = 30 * kMiB;
  if (GetParam() == OffloadDevice::kNone) {
    return;  // nothing became a page of that service
  }
  const std::string message = message_of([&] { initialize(module, second); });
  EXPECT_NE(message.find("stepwell.memory.host_bytes"), std::string::npos) << message;
  EXPECT_NO_THROW(initialize(module, first));
}

/// The tile shrinks with the budget, the numbers stay, and what cannot fit is said at once.
TEST_P(EngineTest, HostBudgetBoundsTheOptimizerBeforeTheFirstStep) {
  if (GetParam() != OffloadDevice::kNvme) {
    return;
  }
  const auto train = [&](std::uint64_t host_bytes) {
    torch::manual_seed(1);
    Config bounded = config();
    bounded.stepwell.tile_elements = 4'194'304;
    bounded.stepwell.host_bytes = host_bytes;
    auto engine = initialize(std::make_shared<TwoLayers>(), bounded);
    for (int step = 0; step < 3; ++step) {
      engine->backward(engine->forward(input(), true));
      engine->step();
    }
    return engine->get_full_fp32_param("first.weight");
  };
  EXPECT_TRUE(torch::equal(train(64 * kMiB), train(kMiB)));
  const std::string message = message_of([&] { train(16 * kKiB); });
  EXPECT_NE(message.find("stepwell.memory.host_bytes to at least"), std::string::npos) << message;
  EXPECT_EQ(message.find("half done"), std::string::npos) << message;
}

TEST_P(EngineTest, BoundariesFollowTheAccumulation) {
  Config accumulating = config();
  accumulating.gradient_accumulation_steps = 3;
  auto engine = initialize(std::make_shared<TwoLayers>(), accumulating);
  for (std::uint64_t micro = 0; micro < 6; ++micro) {
    EXPECT_EQ(engine->is_gradient_accumulation_boundary(), micro % 3 == 2);
    engine->backward(engine->forward(input(), true));
    engine->step();
    EXPECT_EQ(engine->global_steps(), (micro + 1) / 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Homes,
                         EngineTest,
                         testing::Values(OffloadDevice::kNone,
                                         OffloadDevice::kCpu,
                                         OffloadDevice::kNvme),
                         [](const auto& home) { return std::string(to_string(home.param)); });

class DiskTest : public testing::Test {
 protected:
  std::string error_with(const char* options, unsigned long flags) {
    const test::SmallDisk disk(folder_.path().string(), "tmpfs", options, flags);
    if (!disk.mounted()) {
      return "";
    }
    Config config;
    config.has_optimizer = true;
    config.zero.stage = 3;
    config.zero.offload_param = {.device = OffloadDevice::kNvme,
                                 .nvme_path = folder_.path().string()};
    config.zero.offload_optimizer = config.zero.offload_param;
    std::string message =
        message_of([&] { initialize(std::make_shared<torch::nn::LinearImpl>(512, 512), config); });
    EXPECT_EQ(folder_.entry_count(), 0U) << "something was left behind";
    return message;
  }

  test::TemporaryFolder folder_;
};

TEST_F(DiskTest, FullDiskIsSaidBeforeTrainingWithNumbersPathAndCure) {
  const std::string message = error_with("size=1m", 0);
  if (message.empty()) {
    GTEST_SKIP() << "mounting a small disk is not permitted here";
  }
  for (const std::string& part : {std::string("no space"),
                                  std::string("free"),
                                  folder_.path().string(),
                                  std::string("nvme_path")}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  }
}

TEST_F(DiskTest, ReadOnlyFolderIsNamed) {
  const std::string message = error_with("", MS_RDONLY);
  if (message.empty()) {
    GTEST_SKIP() << "mounting a small disk is not permitted here";
  }
  EXPECT_NE(message.find("read-only"), std::string::npos) << message;
  EXPECT_NE(message.find(folder_.path().string()), std::string::npos) << message;
}

}  // namespace
}  // namespace stepwell
