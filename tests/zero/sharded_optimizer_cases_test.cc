// Single cases of the sharded optimizer: what it leaves alone, what it refuses, what it reports.
#include <atomic>
#include <cerrno>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "tests/zero/zero_bench.h"

namespace stepwell::zero {
namespace {

using io::Direction;

/// `count` fp32 parameters of `elements` each.
std::unique_ptr<ZeroBench> make_bench(const Placement& placement,
                                      int count,
                                      std::uint64_t elements,
                                      double clip_norm = 0.0) {
  auto made = std::make_unique<ZeroBench>(placement);
  std::mt19937 random(1);
  for (int index = 0; index < count; ++index) {
    made->add(ElementType::kFloat32, random_floats(random, elements));
  }
  throw_if_error(made->make({}, clip_norm));
  return made;
}

Status contribute(ZeroBench& bench, std::uint32_t index, float value) {
  const std::vector<float> gradient(bench.parameters[index].elements, value);
  return bench.optimizer->accumulate(index, gradient.data(), ElementType::kFloat32);
}

TEST(ShardedOptimizer, LeavesParametersWithoutContributionAlone) {
  const auto bench = make_bench({}, 2, 50);
  for (int step = 0; step < 3; ++step) {
    ASSERT_TRUE(contribute(*bench, 0, 1.0F).ok());
    ASSERT_TRUE(bench->optimizer->step(0.1).ok());
  }
  EXPECT_EQ(bench->weight(1), bench->weights[1]);
  EXPECT_EQ(bench->state(1, StateKind::kExpAvg), std::vector<float>(50, 0.0F));
  // Its first update is a first step (bias correction), whatever the others have done.
  ASSERT_TRUE(contribute(*bench, 1, 1.0F).ok());
  ASSERT_TRUE(bench->optimizer->step(0.1).ok());
  EXPECT_FLOAT_EQ(bench->weight(1)[7], bench->weights[1][7] - 0.1F);
}

TEST(ShardedOptimizer, StepWithoutGradientsDoesNothing) {
  const auto bench = make_bench({}, 2, 50);
  const Result<StepOutcome> outcome = bench->optimizer->step(0.1);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().norm, 0.0);
  EXPECT_EQ(bench->weight(0), bench->weights[0]);
}

TEST(ShardedOptimizer, OverflowChangesNothingAndForgetsTheGradients) {
  const auto bench = make_bench({}, 2, 50);
  for (const float poison :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    ASSERT_TRUE(contribute(*bench, 0, 1.0F).ok());
    ASSERT_TRUE(contribute(*bench, 1, poison).ok());
    const Result<StepOutcome> outcome = bench->optimizer->step(0.1);
    ASSERT_TRUE(outcome.ok());
    EXPECT_FALSE(outcome.value().applied);
    EXPECT_EQ(bench->weight(0), bench->weights[0]);
    EXPECT_EQ(bench->optimizer->contributions(0), 0U);
  }
  ASSERT_TRUE(contribute(*bench, 0, 1.0F).ok());
  ASSERT_TRUE(bench->optimizer->step(0.1).ok());
  EXPECT_FLOAT_EQ(bench->weight(0)[7], bench->weights[0][7] - 0.1F) << "its first step";
}

TEST(ShardedOptimizer, DroppedGradientsAreNotAddedTo) {
  const auto bench = make_bench({}, 1, 50);
  ASSERT_TRUE(contribute(*bench, 0, 5.0F).ok());
  bench->optimizer->drop_gradients();
  ASSERT_TRUE(contribute(*bench, 0, 2.0F).ok());
  ASSERT_TRUE(contribute(*bench, 0, 1.0F).ok());
  EXPECT_EQ(bench->gradient(0), std::vector<float>(50, 3.0F));
  EXPECT_DOUBLE_EQ(bench->optimizer->step(0.1).value().norm, std::sqrt(50 * 9.0));
}

TEST(ShardedOptimizer, ParametersOfOnePageFollowTheirOwnChanges) {
  ZeroBench bench({});
  std::mt19937 random(2);
  bench.add(ElementType::kBfloat16, random_floats(random, 96));
  ShardedParameter second = bench.parameters[0];
  second.name = "second half";
  second.offset_bytes = 64 * 2;
  second.elements = 32;
  bench.parameters[0].elements = 64;
  bench.parameters.push_back(second);
  bench.weights.emplace_back(bench.weights[0].begin() + 64, bench.weights[0].end());
  ASSERT_TRUE(bench.make().ok());
  for (int step = 0; step < 2; ++step) {
    ASSERT_TRUE(contribute(bench, 0, 1.0F).ok());
    ASSERT_TRUE(contribute(bench, 1, 1.0F).ok());
    ASSERT_TRUE(bench.optimizer->step(0.001).ok());
  }
  // A step this small is lost in bf16; the master copies keep it, although each update of one half
  // changes the page of the other.
  EXPECT_NEAR(bench.weight(0)[9], bench.weights[0][9] - 0.002F, 1e-6F);
  EXPECT_NEAR(bench.weight(1)[9], bench.weights[1][9] - 0.002F, 1e-6F);
}

TEST(ShardedOptimizer, DifferentParametersAccumulateFromSeveralThreads) {
  // Small parameters share a gradient page.
  const auto bench = make_bench({.name = "nvme",
                                 .pool = Tier::kHost,
                                 .home = Tier::kNvme,
                                 .weight_home = Tier::kNvme,
                                 .host_blocks = 80},
                                8,
                                5'000);
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint32_t times = 0; times < 10; ++times) {
        for (std::uint32_t index = thread; index < 8; index += 4) {
          failed += contribute(*bench, index, static_cast<float>(index + 1)).ok() ? 0 : 1;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failed, 0);
  for (std::uint32_t index = 0; index < 8; ++index) {
    EXPECT_EQ(bench->gradient(index)[4'999], 10.0F * static_cast<float>(index + 1));
  }
}

TEST(ShardedOptimizer, AnEmptyShardIsNoWork) {
  ZeroBench bench({});
  std::mt19937 random(1);
  bench.add(ElementType::kFloat32, random_floats(random, 10));
  bench.parameters.push_back({.name = "of other ranks", .page = bench.parameters[0].page});
  ASSERT_TRUE(bench.make().ok());
  ASSERT_TRUE(contribute(bench, 0, 1.0F).ok());
  ASSERT_TRUE(bench.optimizer->accumulate(1, nullptr, ElementType::kFloat32).ok());
  EXPECT_TRUE(bench.optimizer->step(0.1).value().applied);
}

TEST(ShardedOptimizer, CountsItsBytesAndGivesEverythingBack) {
  const auto bench = make_bench({.tile_elements = 16'384}, 2, 20'000);
  EXPECT_EQ(bench->optimizer->gradient_bytes() * 2, bench->optimizer->state_bytes());
  EXPECT_GE(bench->optimizer->gradient_bytes(), 2 * 20'000 * sizeof(float));
  const std::uint64_t weights = 2 * 20'000 * sizeof(float);
  EXPECT_EQ(bench->bench.table.page_bytes(),
            weights + bench->optimizer->gradient_bytes() + bench->optimizer->state_bytes());
  bench->optimizer.reset();
  EXPECT_EQ(bench->bench.table.page_bytes(), weights);
}

TEST(ShardedOptimizerErrors, BudgetTooSmallForOneTile) {
  ZeroBench bench({.pool = Tier::kHost, .home = Tier::kNvme, .host_blocks = 10});
  std::mt19937 random(1);
  bench.add(ElementType::kBfloat16, random_floats(random, 16'384));
  const Status status = bench.make();
  EXPECT_EQ(status.code(), StatusCode::kBudgetExceeded);
  EXPECT_NE(status.message().find("host_bytes to at least 262144"), std::string::npos)
      << status.message();
  EXPECT_EQ(bench.bench.table.page_count(), 1U) << "only the weight is left";
}

TEST(ShardedOptimizerErrors, MasterSourceThatFailsIsPassedOn) {
  ZeroBench bench({});
  std::mt19937 random(1);
  bench.add(ElementType::kBfloat16, random_floats(random, 50));
  const auto made =
      ShardedOptimizer::create(bench.bench.table, bench.parameters, {}, [](auto, auto, auto, auto) {
        return Status(StatusCode::kNotFound, "no such value");
      });
  EXPECT_EQ(made.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(bench.bench.table.page_count(), 1U);
}

TEST(ShardedOptimizerErrors, DiskErrorsComeOutOfEveryCall) {
  // Two tiles; there is room for the states and gradients of one.
  const Placement placement{
      .tile_elements = 16'384, .pool = Tier::kHost, .home = Tier::kNvme, .host_blocks = 48};
  const auto bench = make_bench(placement, 2, 16'384);
  const auto spill = [&] {
    ASSERT_TRUE(contribute(*bench, 0, 1.0F).ok());
    ASSERT_TRUE(contribute(*bench, 1, 1.0F).ok());
  };
  spill();
  ASSERT_TRUE(bench->optimizer->step(0.1).ok());
  std::vector<float> values(16'384);
  bench->bench.table.settle();
  bench->bench.faults->fail(Direction::kRead, EIO);
  Status status = bench->optimizer->read_state(0, StateKind::kExpAvg, values.data());
  EXPECT_EQ(status.code(), StatusCode::kIo) << status.to_string();
  EXPECT_NE(status.message().find("optimizer states of w0"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("state access"), std::string::npos) << status.message();
  bench->bench.faults->heal();
  spill();
  bench->bench.faults->fail(Direction::kRead, EIO);
  status = bench->optimizer->step(0.1).status();
  EXPECT_EQ(status.code(), StatusCode::kIo) << status.to_string();
  EXPECT_NE(status.message().find("optimizer step"), std::string::npos) << status.message();
  bench->bench.faults->heal();
  bench->bench.faults->fail(Direction::kWrite, ENOSPC);
  Status accumulated;
  for (std::uint32_t times = 0; accumulated.ok() && times < 6; ++times) {
    accumulated = contribute(*bench, times % 2, 1.0F);
    if (accumulated.ok()) {
      accumulated = bench->optimizer->read_state(times % 2, StateKind::kExpAvg, values.data());
    }
  }
  EXPECT_EQ(accumulated.code(), StatusCode::kNoSpace) << accumulated.to_string();
  bench->bench.faults->heal();
}

}  // namespace
}  // namespace stepwell::zero
