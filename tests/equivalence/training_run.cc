#include "tests/equivalence/training_run.h"

#include <cmath>
#include <cstring>

namespace stepwell::test {
namespace {

constexpr std::int64_t kVocabulary = 97;
constexpr std::int64_t kBatch = 4;
constexpr std::int64_t kLength = 12;

bool same_bits(const torch::Tensor& left, const torch::Tensor& right) {
  const torch::Tensor a = left.detach().contiguous();
  const torch::Tensor b = right.detach().contiguous();
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

std::shared_ptr<TiedNet> make_net(const RunOptions& options, const Config& config) {
  torch::manual_seed(11);
  if (options.deferred_construction) {
    const zero::Init init(config);
    return std::make_shared<TiedNet>();
  }
  return std::make_shared<TiedNet>();
}

}  // namespace

TiedNet::TiedNet(std::int64_t width) {
  embedding = register_module("embedding", torch::nn::Embedding(kVocabulary, width));
  layers = register_module("layers",
                           torch::nn::Sequential(torch::nn::Linear(width, 4 * width),
                                                 torch::nn::GELU(),
                                                 torch::nn::Linear(4 * width, 4 * width),
                                                 torch::nn::GELU(),
                                                 torch::nn::Linear(4 * width, width)));
  norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
  for (torch::Tensor& parameter : parameters()) {
    if (parameter.dim() == 2) {
      const torch::NoGradGuard no_grad;
      torch::nn::init::normal_(parameter, 0.0, 0.05);
    }
  }
}

torch::Tensor TiedNet::forward(const torch::Tensor& tokens, const torch::Tensor& targets) {
  const torch::Tensor hidden = embedding->forward(tokens);
  const torch::Tensor out = norm->forward(hidden + layers->forward(hidden));
  const torch::Tensor logits = torch::matmul(out, embedding->weight.t()).to(torch::kFloat32);
  return torch::nn::functional::cross_entropy(logits.view({-1, kVocabulary}), targets.view({-1}));
}

Batch batch_of(std::uint64_t index) {
  auto generator = at::detail::createCPUGenerator(1000 + index);
  const auto draw = [&] { return torch::randint(kVocabulary, {kBatch, kLength}, generator); };
  const torch::Tensor tokens = draw();
  return {.tokens = tokens, .targets = draw()};
}

Config config_of(const RunOptions& options) {
  Config config;
  config.train_micro_batch_size_per_gpu = kBatch;
  config.gradient_accumulation_steps = options.accumulation;
  config.train_batch_size = kBatch * options.accumulation;
  config.gradient_clipping = options.clipping;
  config.precision = options.precision;
  config.has_optimizer = true;
  config.optimizer.lr = 3e-3;
  config.optimizer.weight_decay = 0.1;
  config.optimizer.kind = options.adam_w ? OptimizerKind::kAdamW : OptimizerKind::kAdam;
  config.optimizer.adam_w_mode = options.adam_w;
  config.zero.stage = 3;
  config.zero.offload_param = {.device = options.parameters, .nvme_path = options.folder};
  config.zero.offload_optimizer = {.device = options.optimizer, .nvme_path = options.folder};
  config.zero.prefetch_bucket_size = options.prefetch_elements;
  config.zero.param_persistence_threshold = 100;
  config.stepwell.device_bytes = options.device_bytes;
  config.stepwell.host_bytes = options.host_bytes;
  config.stepwell.tile_elements = options.tile_elements;
  config.stepwell.unified_memory = options.unified_memory;
  return config;
}

RunResult train(const RunOptions& options) {
  const Config config = config_of(options);
  const auto net = make_net(options, config);
  auto engine = initialize(net, config);
  RunResult result;
  for (std::uint64_t micro = 0; micro < options.steps * options.accumulation; ++micro) {
    const Batch batch = batch_of(micro);
    const torch::Tensor loss = engine->forward(batch.tokens, batch.targets);
    result.losses.push_back(loss.item<float>());
    engine->backward(loss);
    const bool boundary = engine->is_gradient_accumulation_boundary();
    engine->step();
    if (boundary) {
      result.norms.push_back(engine->get_global_grad_norm().value());
    }
  }
  result.report = engine->take_report();
  result.memory = engine->memory_report();
  for (const std::string& name : engine->parameter_names()) {
    result.weights[name] = engine->get_full_fp32_param(name);
    result.exp_avg[name] = engine->get_full_optimizer_state(name, "exp_avg");
    result.exp_avg_sq[name] = engine->get_full_optimizer_state(name, "exp_avg_sq");
  }
  return result;
}

namespace {

/// Adam on one tensor, every arithmetic step an operator of its own, so that each is rounded by
/// itself.
void plain_adam(const OptimizerConfig& adam,
                std::uint64_t step,
                double grad_scale,
                torch::Tensor p,
                torch::Tensor m,
                torch::Tensor v,
                const torch::Tensor& gradient) {
  const auto t = static_cast<double>(step);
  const auto scalar = [](double value) { return static_cast<float>(value); };
  const float step_size = scalar(adam.lr / (1.0 - std::pow(adam.beta1, t)));
  const float bias2_sqrt = scalar(std::sqrt(1.0 - std::pow(adam.beta2, t)));
  const bool decoupled = adam.kind == OptimizerKind::kAdamW || adam.adam_w_mode;
  torch::Tensor g = gradient * scalar(grad_scale);
  if (!decoupled && adam.weight_decay > 0) {
    g = g + p * scalar(adam.weight_decay);
  }
  m.copy_(m * scalar(adam.beta1) + g * scalar(1.0 - adam.beta1));
  v.copy_(v * scalar(adam.beta2) + (g * scalar(1.0 - adam.beta2)) * g);
  // A root taken in double and rounded once is the correctly rounded one; torch's own in float may
  // be a bit off.
  const torch::Tensor root = v.to(torch::kFloat64).sqrt().to(torch::kFloat32);
  const torch::Tensor denominator = root / bias2_sqrt + scalar(adam.eps);
  const float decay = decoupled ? scalar(1.0 - adam.lr * adam.weight_decay) : 1.0F;
  p.copy_(p * decay - (m / denominator) * step_size);
}

double plain_norm(const std::vector<torch::Tensor>& gradients) {
  double total = 0.0;
  for (const torch::Tensor& gradient : gradients) {
    total += gradient.to(torch::kFloat64).square().sum().item<double>();
  }
  return std::sqrt(total);
}

}  // namespace

RunResult train_plain(const RunOptions& options) {
  const Config config = config_of(options);
  const bool bf16 = options.precision == Precision::kBf16;
  torch::manual_seed(11);
  TiedNet net;
  std::vector<torch::Tensor> masters, m, v;
  for (const torch::Tensor& parameter : net.parameters()) {
    masters.push_back(bf16 ? parameter.detach().clone() : parameter.detach());
    m.push_back(torch::zeros_like(masters.back()));
    v.push_back(torch::zeros_like(masters.back()));
  }
  if (bf16) {
    net.to(torch::kBFloat16);
  }
  RunResult result;
  for (std::uint64_t step = 1; step <= options.steps; ++step) {
    std::vector<torch::Tensor> sums(masters.size());
    for (std::uint64_t micro = 0; micro < options.accumulation; ++micro) {
      const Batch batch = batch_of((step - 1) * options.accumulation + micro);
      const torch::Tensor loss = net.forward(batch.tokens, batch.targets);
      result.losses.push_back(loss.item<float>());
      const auto divisor = static_cast<double>(options.accumulation);
      (divisor == 1.0 ? loss : loss / divisor).backward();
      std::size_t index = 0;
      for (torch::Tensor& parameter : net.parameters()) {
        const torch::Tensor gradient = parameter.grad().to(torch::kFloat32);
        sums[index] = sums[index].defined() ? sums[index] + gradient : gradient.clone();
        parameter.mutable_grad() = torch::Tensor();
        ++index;
      }
    }
    result.norms.push_back(plain_norm(sums));
    const double limit = config.gradient_clipping;
    const double scale =
        limit > 0 ? 1.0 / std::max(1.0, (result.norms.back() + 1e-6) / limit) : 1.0;
    const torch::NoGradGuard no_grad;
    std::size_t index = 0;
    for (torch::Tensor& parameter : net.parameters()) {
      plain_adam(config.optimizer, step, scale, masters[index], m[index], v[index], sums[index]);
      if (bf16) {
        parameter.copy_(masters[index]);
      }
      ++index;
    }
  }
  std::size_t index = 0;
  for (const auto& item : net.named_parameters()) {
    result.weights[item.key()] = masters[index].clone();
    result.exp_avg[item.key()] = m[index];
    result.exp_avg_sq[item.key()] = v[index];
    ++index;
  }
  return result;
}

void expect_equal(const std::map<std::string, torch::Tensor>& left,
                  const std::map<std::string, torch::Tensor>& right,
                  const std::string& what) {
  ASSERT_EQ(left.size(), right.size()) << what;
  for (const auto& [name, tensor] : left) {
    ASSERT_TRUE(right.contains(name)) << what << " " << name;
    EXPECT_TRUE(same_bits(tensor, right.at(name)))
        << what << " of " << name << " differ by up to "
        << (tensor - right.at(name)).abs().max().item<float>();
  }
}

void expect_equal(const RunResult& left, const RunResult& right) {
  ASSERT_EQ(left.losses.size(), right.losses.size());
  for (std::size_t index = 0; index < left.losses.size(); ++index) {
    ASSERT_EQ(std::memcmp(&left.losses[index], &right.losses[index], sizeof(float)), 0)
        << "loss of micro-step " << index << ": " << left.losses[index] << " and "
        << right.losses[index];
  }
  expect_equal(left.weights, right.weights, "weights");
  expect_equal(left.exp_avg, right.exp_avg, "first moments");
  expect_equal(left.exp_avg_sq, right.exp_avg_sq, "second moments");
}

}  // namespace stepwell::test
