#include "tools/train/trainer.h"

#include <chrono>
#include <span>

#include <torch/torch.h>

#include "src/data/windows.h"
#include "stepwell/bytes.h"
#include "stepwell/models/gpt2.h"
#include "stepwell/stepwell.h"

namespace stepwell::train {
namespace {

struct Batch {
  torch::Tensor tokens;   // int64 [windows, context]
  torch::Tensor targets;  // the same, one byte later
};

Batch make_batch(std::span<const std::uint8_t> text,
                 std::span<const std::uint64_t> starts,
                 std::int64_t context) {
  const auto rows = static_cast<std::int64_t>(starts.size());
  torch::Tensor windows = torch::empty({rows, context + 1}, torch::kInt64);
  auto* to = windows.mutable_data_ptr<std::int64_t>();
  for (const std::uint64_t start : starts) {
    for (const std::uint8_t byte : text.subspan(start, static_cast<std::size_t>(context) + 1)) {
      *to++ = byte;
    }
  }
  return {.tokens = windows.narrow(1, 0, context).contiguous(),
          .targets = windows.narrow(1, 1, context).contiguous()};
}

models::Gpt2Options model_options(const ModelShape& shape) {
  return {.vocabulary = 256,
          .context = shape.context,
          .width = shape.width,
          .layers = shape.layers,
          .heads = shape.heads};
}

models::Gpt2 build_model(const Trainer::Options& options, const Config& config) {
  torch::manual_seed(options.seed);
  const zero::Init init(config);
  return models::Gpt2(model_options(options.model));
}

}  // namespace

void set_thread_count(int threads) {
  if (threads > 0) {
    torch::set_num_threads(threads);
  }
}

struct Trainer::Impl {
  Impl(const Options& from, const Config& configuration, const data::Text& source)
      : options(from),
        config(configuration),
        text(source),
        batch_windows(config.train_micro_batch_size_per_gpu),
        engine(initialize(build_model(options, config), config)) {}

  data::WindowOptions windows(const std::vector<std::uint8_t>& of, std::uint64_t count) const {
    return {.text_bytes = of.size(),
            .window_bytes = static_cast<std::uint64_t>(options.model.context) + 1,
            .count = count};
  }
  Batch train_batch(std::uint64_t index) const {
    return make_batch(text.train,
                      data::random_windows(windows(text.train, batch_windows), options.seed, index),
                      options.model.context);
  }

  const Options options;
  const Config config;
  const data::Text& text;
  const std::uint64_t batch_windows;
  std::shared_ptr<ModuleEngine<models::Gpt2Impl>> engine;
};

Trainer::Trainer(const Options& options, const Config& config, const data::Text& text)
    : impl_(std::make_unique<Impl>(options, config, text)) {}

Trainer::~Trainer() = default;

StepRecord Trainer::train_step(std::uint64_t step, double lr) {
  auto& engine = *impl_->engine;
  const std::uint64_t micro_steps = impl_->config.gradient_accumulation_steps;
  StepRecord record{.step = step, .lr = lr};
  const auto start = std::chrono::steady_clock::now();
  engine.set_lr(lr);
  for (std::uint64_t micro = 0; micro < micro_steps; ++micro) {
    const Batch batch = impl_->train_batch((step - 1) * micro_steps + micro);
    const torch::Tensor loss = engine.forward(batch.tokens, batch.targets);
    engine.backward(loss);
    record.loss += loss.item<double>() / static_cast<double>(micro_steps);
    record.tokens += static_cast<std::uint64_t>(batch.targets.numel());
    engine.step();
  }
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  record.grad_norm = engine.get_global_grad_norm();
  record.applied = engine.was_step_applied();
  record.report = engine.take_report();
  return record;
}

std::uint64_t Trainer::eval_windows() const {
  return align_up(impl_->options.eval_windows, impl_->batch_windows);
}

double Trainer::evaluate() {
  auto& engine = *impl_->engine;
  const torch::NoGradGuard no_grad;
  const std::vector<std::uint8_t>& text = impl_->text.held_out;
  const auto starts = data::even_windows(impl_->windows(text, eval_windows()));
  engine.eval();
  double loss = 0;
  std::size_t measured = 0;
  for (std::size_t first = 0; first < starts.size(); first += impl_->batch_windows) {
    if (measured > 0 && impl_->options.stopping && impl_->options.stopping()) {
      break;  // a mean over fewer windows
    }
    ++measured;
    const Batch batch = make_batch(
        text, std::span(starts).subspan(first, impl_->batch_windows), impl_->options.model.context);
    loss += engine.forward(batch.tokens, batch.targets).item<double>();
  }
  engine.train();
  // What evaluation moved is no part of the next step.
  engine.take_report();
  return loss / static_cast<double>(measured);
}

std::uint64_t Trainer::parameters() const {
  return models::parameter_count(model_options(impl_->options.model));
}

MemoryReport Trainer::memory_report() const {
  return impl_->engine->memory_report();
}

}  // namespace stepwell::train
