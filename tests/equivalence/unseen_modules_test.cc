// Modules the library has never seen train unchanged: each against the same module without offload,
// bit for bit.
#include <functional>
#include <stdexcept>

#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/torch.h>

#include "tests/equivalence/training_run.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::test {
namespace {

constexpr std::int64_t kWidth = 64;

/// Runs `step(engine, module, n)` five times without offload and on NVMe with an arena of about two
/// weights, and compares losses and weights.
template <class Module>
void compare(const std::function<torch::Tensor(ModuleEngine<Module>&, std::uint64_t)>& loss_of,
             Precision precision = Precision::kFp32) {
  const TemporaryFolder folder;
  std::vector<RunResult> results;
  for (const OffloadDevice device : {OffloadDevice::kNone, OffloadDevice::kNvme}) {
    RunOptions options{.parameters = device, .optimizer = device, .precision = precision};
    options.folder = folder.path().string();
    options.device_bytes = device == OffloadDevice::kNone ? kAutoBytes : 12 * 4096;
    torch::manual_seed(5);
    auto engine = initialize(std::make_shared<Module>(), config_of(options));
    RunResult result;
    for (std::uint64_t step = 0; step < 5; ++step) {
      const torch::Tensor loss = loss_of(*engine, step);
      result.losses.push_back(loss.item<float>());
      engine->backward(loss);
      engine->step();
    }
    for (const std::string& name : engine->parameter_names()) {
      result.weights[name] = engine->get_full_fp32_param(name);
    }
    results.push_back(std::move(result));
  }
  ASSERT_EQ(results[0].losses, results[1].losses);
  expect_equal(results[0].weights, results[1].weights, "weights");
  EXPECT_EQ(folder.entry_count(), 0U);
}

torch::Tensor input_of(std::uint64_t step) {
  return torch::randn({8, kWidth}, at::detail::createCPUGenerator(step));
}

/// One module uses a weight that another one owns, and one weight twice.
struct Inner : torch::nn::Module {
  Inner() { linear = register_module("linear", torch::nn::Linear(kWidth, kWidth)); }
  torch::Tensor forward(const torch::Tensor& x) { return torch::tanh(linear(x)); }
  torch::nn::Linear linear{nullptr};
};
struct Borrower : torch::nn::Module {
  Borrower() {
    owner = register_module("owner", std::make_shared<Inner>());
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth})));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor once = owner->forward(x);
    const torch::Tensor borrowed = torch::matmul(once, owner->linear->weight);
    const torch::Tensor stacked = torch::stack({owner->linear->weight, owner->linear->weight.t()});
    return (norm(owner->forward(borrowed)) + stacked.mean() + owner->linear->weight.sum(0))
        .square()
        .mean();
  }
  std::shared_ptr<Inner> owner;
  torch::nn::LayerNorm norm{nullptr};
};

TEST(UnseenModules, WeightUsedInsideAnotherModuleAndTwice) {
  compare<Borrower>(
      [](auto& engine, std::uint64_t step) { return engine.forward(input_of(step)); });
}

/// A branch that differs from step to step; the branch not taken gets no gradient.
struct Branching : torch::nn::Module {
  Branching() {
    left = register_module("left", torch::nn::Linear(kWidth, kWidth));
    right = register_module("right", torch::nn::Linear(kWidth, kWidth));
    head = register_module("head", torch::nn::Linear(kWidth, 1));
  }
  torch::Tensor forward(const torch::Tensor& x, bool go_left) {
    return head(torch::relu((go_left ? left : right)(x))).square().mean();
  }
  torch::nn::Linear left{nullptr}, right{nullptr}, head{nullptr};
};

TEST(UnseenModules, BranchThatDiffersFromStepToStep) {
  compare<Branching>([](auto& engine, std::uint64_t step) {
    return engine.forward(input_of(step), step % 3 != 1);
  });
}

TEST(UnseenModules, EvaluationBetweenSteps) {
  std::vector<float> evaluated;
  compare<Borrower>([&](auto& engine, std::uint64_t step) {
    engine.eval();
    {
      const torch::NoGradGuard no_grad;
      evaluated.push_back(engine.forward(input_of(100)).template item<float>());
    }
    engine.train();
    return engine.forward(input_of(step));
  });
  ASSERT_EQ(evaluated.size(), 10U);
  for (std::size_t step = 0; step < 5; ++step) {
    EXPECT_EQ(evaluated[step], evaluated[step + 5]) << step;
  }
}

struct Throwing : Borrower {
  torch::Tensor forward(const torch::Tensor& x, bool fail) {
    const torch::Tensor half = owner->forward(x);
    if (fail) {
      throw std::runtime_error("in the middle of forward");
    }
    return norm(half).square().mean();
  }
};

TEST(UnseenModules, ExceptionInTheMiddleOfForward) {
  compare<Throwing>([](auto& engine, std::uint64_t step) {
    EXPECT_THROW(engine.forward(input_of(step), true), std::runtime_error);
    return engine.forward(input_of(step), false);
  });
}

/// In-place change of a weight inside training, lists of tensors, a transposed parameter, a scalar
/// one, one in float64-free odd sizes.
struct Odd : torch::nn::Module {
  Odd() {
    transposed = register_parameter("transposed", torch::randn({kWidth, 2 * kWidth}).t());
    scalar = register_parameter("scalar", torch::ones({}));
    odd = register_parameter("odd", torch::randn({37, 13}));
    frozen = register_parameter("frozen", torch::randn({kWidth, kWidth}), /*requires_grad=*/false);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor hidden = torch::matmul(torch::matmul(x, frozen), transposed.t());
    const torch::Tensor joined = torch::cat({transposed.flatten(), odd.flatten()});
    return (hidden * scalar).square().mean() + joined.square().mean() +
           torch::einsum("ij,kj->ik", {odd, odd}).mean();
  }
  torch::Tensor transposed, scalar, odd, frozen;
};

TEST(UnseenModules, OddShapesLayoutsAndFrozenWeights) {
  compare<Odd>([](auto& engine, std::uint64_t step) { return engine.forward(input_of(step)); });
}

TEST(UnseenModules, InPlaceChangeBetweenStepsIsKept) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    compare<Inner>(
        [&](auto& engine, std::uint64_t step) {
          if (step == 2) {
            const torch::NoGradGuard no_grad;
            engine.module().linear->weight.mul_(0.5);
            engine.module().linear->bias.zero_();
          }
          const torch::Tensor x =
              input_of(step).to(precision == Precision::kBf16 ? torch::kBFloat16 : torch::kFloat32);
          return engine.forward(x).to(torch::kFloat32).square().mean();
        },
        precision);
  }
}

const char* kScript = R"(
def forward(self, x):
    h = torch.relu(torch.matmul(x, self.w) + self.b)
    for i in range(3):
        h = torch.tanh(h @ self.w) * self.b
    return h.sum()
)";

TEST(UnseenModules, TorchScriptModuleLoadedFromAFile) {
  const TemporaryFolder folder;
  const std::string file = folder.file("module.pt");
  {
    torch::manual_seed(3);
    torch::jit::Module made("made");
    made.register_parameter(
        "w", (torch::randn({kWidth, kWidth}) * 0.1).set_requires_grad(true), false);
    made.register_parameter("b", torch::randn({kWidth}).set_requires_grad(true), false);
    made.define(kScript);
    made.save(file);
  }
  std::vector<std::vector<float>> losses;
  for (const OffloadDevice device : {OffloadDevice::kNone, OffloadDevice::kNvme}) {
    torch::jit::Module module = torch::jit::load(file);
    RunOptions options{.parameters = device, .optimizer = device, .folder = folder.path().string()};
    options.device_bytes = device == OffloadDevice::kNone ? kAutoBytes : 6 * 4096;
    auto engine = initialize(module, config_of(options));
    losses.emplace_back();
    for (std::uint64_t step = 0; step < 5; ++step) {
      const torch::Tensor loss = engine->forward({input_of(step)}).toTensor();
      losses.back().push_back(loss.item<float>());
      engine->backward(loss);
      engine->step();
    }
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_NE(losses[0].front(), losses[0].back());
}

TEST(UnseenModules, SeveralBackwardsBeforeAStepAddUp) {
  // Three backwards with one accumulation step: their sum counts, none is dropped.
  const TemporaryFolder folder;
  std::vector<torch::Tensor> gradients;
  for (const OffloadDevice device : {OffloadDevice::kNone, OffloadDevice::kNvme}) {
    RunOptions options{.parameters = device, .optimizer = device, .folder = folder.path().string()};
    torch::manual_seed(5);
    auto engine = initialize(std::make_shared<Borrower>(), config_of(options));
    for (std::uint64_t part = 0; part < 3; ++part) {
      engine->backward(engine->forward(input_of(part)));
    }
    gradients.push_back(engine->get_full_grad("owner.linear.weight").value());
  }
  torch::manual_seed(5);
  Borrower plain;
  for (std::uint64_t part = 0; part < 3; ++part) {
    plain.forward(input_of(part)).backward();
  }
  EXPECT_TRUE(torch::equal(gradients[0], gradients[1]));
  EXPECT_TRUE(torch::equal(gradients[0], plain.owner->linear->weight.grad()));
}

}  // namespace
}  // namespace stepwell::test
