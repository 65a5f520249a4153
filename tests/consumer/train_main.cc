// Trains a module of its own with weights and optimizer states on disk, through a device of 512
// KiB.
#include <cstdio>
#include <filesystem>

#include <stepwell/stepwell.h>

struct Net : torch::nn::Module {
  torch::nn::Linear hidden{register_module("hidden", torch::nn::Linear(32, 256))};
  torch::nn::Linear middle{register_module("middle", torch::nn::Linear(256, 256))};
  torch::nn::Linear output{register_module("output", torch::nn::Linear(256, 1))};

  torch::Tensor forward(const torch::Tensor& x) {
    return output(torch::relu(middle(torch::relu(hidden(x)))));
  }
};

int main() try {
  torch::manual_seed(7);
  std::filesystem::create_directories("swap");
  const auto config = stepwell::Config::parse(R"({
    "train_batch_size": 64,
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}},
    "zero_optimization": {"stage": 3,
      "offload_param": {"device": "nvme", "nvme_path": "swap"},
      "offload_optimizer": {"device": "nvme", "nvme_path": "swap"}},
    "stepwell": {"memory": {"device_bytes": "512KiB", "host_bytes": "512KiB"}, "optimizer": {"tile_elements": 16384}}})")
                          .value_or_throw();
  auto engine = stepwell::initialize(std::make_shared<Net>(), config);
  const torch::Tensor x = torch::randn({64, 32});
  const torch::Tensor y = x.sum(1, true).sin();
  float first = 0, last = 0;
  for (int step = 0; step < 30; ++step) {
    const torch::Tensor loss = torch::mse_loss(engine->forward(x), y);
    last = engine->backward(loss).item<float>();
    first = step == 0 ? last : first;
    engine->step();
  }
  const auto read_bytes = static_cast<unsigned long long>(engine->take_report().nvme_read_bytes);
  std::printf("loss %.4f -> %.4f, %llu bytes read from disk\n", first, last, read_bytes);
  return last < 0.5F * first && read_bytes > 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
