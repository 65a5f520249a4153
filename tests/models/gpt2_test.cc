#include "stepwell/models/gpt2.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stepwell/status.h"

namespace stepwell::models {
namespace {

Gpt2Options gpt2(std::int64_t layers, std::int64_t width, std::int64_t heads) {
  return {.vocabulary = 50257, .context = 1024, .width = width, .layers = layers, .heads = heads};
}

constexpr Gpt2Options kSmall{.vocabulary = 31, .context = 12, .width = 16, .layers = 3, .heads = 4};

Gpt2 make_model(const Gpt2Options& options = kSmall) {
  torch::manual_seed(5);
  Gpt2 model(options);
  model->eval();
  return model;
}

torch::Tensor tokens_of(std::int64_t rows, std::int64_t length) {
  return torch::arange(rows * length, torch::kInt64)
      .mul(7)
      .remainder(kSmall.vocabulary)
      .view({rows, length});
}

TEST(Gpt2, CountsTheParametersOfThePublishedSizes) {
  EXPECT_EQ(parameter_count(gpt2(12, 768, 12)), 124'439'808U);
  EXPECT_EQ(parameter_count(gpt2(24, 1024, 16)), 354'823'168U);
  EXPECT_EQ(parameter_count(gpt2(36, 1280, 20)), 774'030'080U);
  EXPECT_EQ(parameter_count(gpt2(48, 1600, 25)), 1'557'611'200U);
}

TEST(Gpt2, HasAsManyParametersAsTheFormulaSays) {
  for (const Gpt2Options& options :
       {kSmall,
        Gpt2Options{.vocabulary = 256, .context = 5, .width = 24, .layers = 1, .heads = 3}}) {
    std::uint64_t elements = 0;
    for (const torch::Tensor& parameter : make_model(options)->parameters()) {
      elements += static_cast<std::uint64_t>(parameter.numel());
    }
    EXPECT_EQ(elements, parameter_count(options));
  }
}

TEST(Gpt2, DrawsWeightsAsDocumented) {
  const Gpt2Options options{
      .vocabulary = 256, .context = 64, .width = 128, .layers = 8, .heads = 4};
  const auto parameters = make_model(options)->named_parameters();
  const auto deviation = [&](const std::string& name) {
    return parameters[name].std().item<double>();
  };
  EXPECT_NEAR(deviation("wte.weight"), 0.02, 0.0005);
  EXPECT_NEAR(deviation("h.3.c_attn.weight"), 0.02, 0.0005);
  EXPECT_NEAR(deviation("h.3.c_fc.weight"), 0.02, 0.0005);
  EXPECT_NEAR(deviation("h.3.attn_proj.weight"), 0.02 / 4, 0.0002);
  EXPECT_NEAR(deviation("h.3.mlp_proj.weight"), 0.02 / 4, 0.0002);
  EXPECT_EQ(parameters["h.3.c_fc.bias"].abs().max().item<float>(), 0.0F);
}

TEST(Gpt2, DoesNotSeeTheFuture) {
  const torch::NoGradGuard no_grad;
  Gpt2 model = make_model();
  const torch::Tensor tokens = tokens_of(2, 10);
  torch::Tensor changed = tokens.clone();
  changed.index_put_({torch::indexing::Slice(), 6}, 1);
  const torch::Tensor before = model->logits(tokens);
  const torch::Tensor after = model->logits(changed);
  EXPECT_TRUE(torch::equal(before.narrow(1, 0, 6), after.narrow(1, 0, 6)));
  for (std::int64_t place = 6; place < 10; ++place) {
    EXPECT_FALSE(torch::equal(before.select(1, place), after.select(1, place))) << place;
  }
}

TEST(Gpt2, UsesTheTokenEmbeddingAsItsHead) {
  Gpt2 model = make_model();
  const auto parameters = model->named_parameters();
  model->forward(tokens_of(1, 4), tokens_of(1, 4)).backward();
  // Tokens 0, 7, 14, 21 are read; the head gives every other row a gradient too.
  const torch::Tensor gradient = parameters["wte.weight"].grad();
  EXPECT_GT(gradient.abs().amax(1).min().item<float>(), 0.0F);
}

TEST(Gpt2, LossIsTheMeanCrossEntropyInNats) {
  const torch::NoGradGuard no_grad;
  Gpt2 model = make_model();
  const torch::Tensor tokens = tokens_of(2, 8);
  const torch::Tensor targets = tokens_of(2, 8).add(3).remainder(kSmall.vocabulary);
  const torch::Tensor logits = model->logits(tokens).to(torch::kFloat64);
  const torch::Tensor expected =
      (logits.logsumexp(2) - logits.gather(2, targets.unsqueeze(2)).squeeze(2)).mean();
  const torch::Tensor loss = model->forward(tokens, targets);
  EXPECT_EQ(loss.dim(), 0);
  EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-5);
  EXPECT_NEAR(loss.item<double>(), std::log(31.0), 0.1);
}

TEST(Gpt2, GivesFloatLogitsFromBfloat16Parameters) {
  const torch::NoGradGuard no_grad;
  Gpt2 model = make_model();
  const torch::Tensor exact = model->logits(tokens_of(1, 6));
  model->to(torch::kBFloat16);
  const torch::Tensor rounded = model->logits(tokens_of(1, 6));
  EXPECT_EQ(rounded.scalar_type(), torch::kFloat32);
  EXPECT_TRUE(torch::allclose(rounded, exact, /*rtol=*/0.05, /*atol=*/0.01));
}

TEST(Gpt2, LearnsASequence) {
  Gpt2 model = make_model();
  model->train();
  const torch::Tensor tokens = tokens_of(1, 12);
  const torch::Tensor targets = tokens.add(7).remainder(kSmall.vocabulary);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-2));
  double loss = 0;
  for (int step = 0; step < 60; ++step) {
    optimizer.zero_grad();
    const torch::Tensor value = model->forward(tokens, targets);
    value.backward();
    optimizer.step();
    loss = value.item<double>();
  }
  EXPECT_LT(loss, 0.1);
}

TEST(Gpt2, RefusesOptionsThatDoNotFitTogether) {
  const auto make = [](std::int64_t width, std::int64_t layers, std::int64_t heads) {
    Gpt2(Gpt2Options{
        .vocabulary = 9, .context = 4, .width = width, .layers = layers, .heads = heads});
  };
  EXPECT_THROW(make(10, 1, 3), Error);
  EXPECT_THROW(make(8, 0, 2), Error);
}

TEST(Gpt2, RefusesASequenceLongerThanItsContext) {
  try {
    make_model()->logits(tokens_of(1, 13));
    FAIL() << "13 tokens went through a context of 12";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("13 tokens"));
    EXPECT_THAT(error.what(), testing::HasSubstr("context of 12"));
  }
}

}  // namespace
}  // namespace stepwell::models
