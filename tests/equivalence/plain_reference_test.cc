// The engine without offload against a plain LibTorch loop with the same formula.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/equivalence/training_run.h"

namespace stepwell::test {
namespace {

struct Case {
  std::uint64_t accumulation;
  double clipping;
  bool adam_w;
};

class PlainReference : public testing::TestWithParam<Case> {
 protected:
  RunOptions options(Precision precision) const {
    return {.precision = precision,
            .accumulation = GetParam().accumulation,
            .clipping = GetParam().clipping,
            .adam_w = GetParam().adam_w};
  }
};

TEST_P(PlainReference, Fp32IsBitEqual) {
  const RunResult ours = train(options(Precision::kFp32));
  const RunResult plain = train_plain(options(Precision::kFp32));
  if (GetParam().clipping == 0.0) {
    expect_equal(ours, plain);
    return;
  }
  // The clipping factor comes from a norm that torch adds up in another order: equal to the last
  // bits of a double, so nearly always equal after rounding to float. The first losses do not
  // depend on it at all.
  EXPECT_EQ(ours.losses.front(), plain.losses.front());
  for (std::size_t index = 0; index < ours.losses.size(); ++index) {
    EXPECT_NEAR(ours.losses[index], plain.losses[index], 1e-5) << index;
  }
  for (const auto& [name, weight] : plain.weights) {
    EXPECT_TRUE(torch::allclose(ours.weights.at(name), weight, 1e-4, 1e-5)) << name;
  }
}

TEST_P(PlainReference, Bf16WithMasterWeightsIsBitEqual) {
  if (GetParam().clipping > 0.0) {
    GTEST_SKIP() << "clipping against the plain loop is compared in fp32";
  }
  expect_equal(train(options(Precision::kBf16)), train_plain(options(Precision::kBf16)));
}

TEST_P(PlainReference, NormIsThatOfAllGradients) {
  const RunResult ours = train(options(Precision::kFp32));
  const RunResult plain = train_plain(options(Precision::kFp32));
  ASSERT_EQ(ours.norms.size(), plain.norms.size());
  EXPECT_NEAR(ours.norms.front(), plain.norms.front(), 1e-9 * plain.norms.front());
}

INSTANTIATE_TEST_SUITE_P(Steps,
                         PlainReference,
                         testing::Values(Case{1, 0.0, true},
                                         Case{4, 0.0, true},
                                         Case{1, 0.5, true},
                                         Case{1, 0.0, false}));

TEST(PlainReferenceOptimizer, StaysCloseToTorchAdamW) {
  const RunOptions options;
  const RunResult ours = train(options);
  const Config config = config_of(options);
  torch::manual_seed(11);
  TiedNet net;
  torch::optim::AdamW optimizer(
      net.parameters(),
      torch::optim::AdamWOptions(config.optimizer.lr).weight_decay(config.optimizer.weight_decay));
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    const Batch batch = batch_of(step);
    optimizer.zero_grad();
    const torch::Tensor loss = net.forward(batch.tokens, batch.targets);
    EXPECT_NEAR(loss.item<float>(), ours.losses[step], 2e-5) << step;
    loss.backward();
    optimizer.step();
  }
}

}  // namespace
}  // namespace stepwell::test
