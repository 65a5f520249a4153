#include "stepwell/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "src/base/format.h"
#include "src/engine/gradient_hooks.h"
#include "src/engine/parameters.h"
#include "src/paging/pins.h"
#include "src/paging/service.h"
#include "src/zero/sharded_optimizer.h"
#include "stepwell/log.h"

namespace stepwell {

using residency::StepKind;

namespace {

/// Adds the time of its scope to a counter.
class ScopedTimer {
 public:
  explicit ScopedTimer(double& seconds)
      : seconds_(seconds), start_(std::chrono::steady_clock::now()) {}
  ~ScopedTimer() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_;
};

zero::ShardedOptimizerOptions optimizer_options(const Config& config) {
  const Tier pool =
      config.zero.offload_optimizer.device == OffloadDevice::kNone ? Tier::kDevice : Tier::kHost;
  const OptimizerConfig& adam = config.optimizer;
  return {.adam = {.lr = adam.lr,
                   .beta1 = adam.beta1,
                   .beta2 = adam.beta2,
                   .eps = adam.eps,
                   .weight_decay = adam.weight_decay,
                   .decoupled = adam.kind == OptimizerKind::kAdamW || adam.adam_w_mode,
                   .bias_correction = adam.bias_correction},
          .clip_norm = config.gradient_clipping,
          .tile_elements = config.zero.sub_group_size == 0 ? 1
                                                           : std::min(config.stepwell.tile_elements,
                                                                      config.zero.sub_group_size),
          .pool = pool,
          .home = home_of(config.zero.offload_optimizer.device, pool)};
}

/// Bytes on NVMe that a model of this configuration needs, parameters that are pages already left
/// out.
std::uint64_t swap_bytes_needed(const std::vector<NamedParameter>& parameters,
                                const Config& config) {
  std::uint64_t elements = 0;
  std::uint64_t trainable = 0;
  for (const NamedParameter& parameter : parameters) {
    const auto count = static_cast<std::uint64_t>(parameter.tensor.numel());
    elements += paging::PagedStorage::of(parameter.tensor) == nullptr ? count : 0;
    trainable += parameter.tensor.requires_grad() ? count : 0;
  }
  const bool bf16 = config.precision == Precision::kBf16;
  std::uint64_t bytes = 0;
  if (config.zero.offload_param.device == OffloadDevice::kNvme) {
    bytes += elements * (bf16 ? 2 : 4);
  }
  if (config.zero.offload_optimizer.device == OffloadDevice::kNvme) {
    bytes += trainable * (bf16 ? 16 : 12);
  }
  return bytes;
}

}  // namespace

struct Engine::Impl {
  explicit Impl(const Config& configuration) : config(configuration) {}

  void on_gradient(std::uint32_t index, const torch::Tensor& gradient);
  void ensure_usable() const;
  std::uint32_t trainable_index(const std::string& name) const;
  torch::Tensor read_full(const std::string& name,
                          const std::function<Status(std::uint32_t, float*)>& read) const;

  Config config;
  std::shared_ptr<Service> service;
  std::vector<engine::TakenParameter> parameters;
  std::vector<std::uint32_t> trainable;  // index into parameters, by index in the optimizer
  std::map<std::string, std::uint32_t> index_by_name;  // trainable ones
  std::unique_ptr<zero::ShardedOptimizer> optimizer;
  std::unique_ptr<engine::GradientHooks> hooks;
  StepReport report;
  std::optional<double> norm;
  Status failure;  // of a step that ended half done
  bool backward_failed = false;
  std::uint64_t backwards = 0;  // since the last step
  bool applied = true;
  double lr = 0;
  std::uint64_t micro_steps = 0;
  std::uint64_t global_steps = 0;
  std::uint64_t skipped_steps = 0;
};

Engine::Engine(std::vector<NamedParameter> parameters, const Config& config)
    : impl_(std::make_unique<Impl>(config)) {
  Impl& self = *impl_;
  throw_if_error(engine::check_parameters(parameters, config.precision));
  for (const std::string& note : config.notes) {
    log_info("configuration: " + note);
  }
  if (config.has_optimizer && config.gradient_clipping > 0) {
    log_info(concat("gradients are clipped to a norm of ", config.gradient_clipping));
  }
  self.service = engine::service_of(parameters);
  if (self.service == nullptr) {
    self.service = make_service(config);
  } else {
    throw_if_error(self.service->check_same_budgets(config));
  }
  throw_if_error(self.service->reserve_swap(swap_bytes_needed(parameters, config)));
  self.parameters = engine::take_over(parameters, self.service, config.precision);
  self.lr = config.optimizer.lr;
  std::vector<zero::ShardedParameter> sharded;
  std::vector<torch::Tensor> leaves;
  for (std::uint32_t index = 0; index < self.parameters.size(); ++index) {
    const engine::TakenParameter& parameter = self.parameters[index];
    if (parameter.trainable && parameter.tensor.numel() > 0) {
      self.index_by_name[parameter.name] = static_cast<std::uint32_t>(self.trainable.size());
      self.trainable.push_back(index);
      sharded.push_back(engine::describe(parameter));
      leaves.push_back(parameter.tensor);
    }
  }
  const auto exact_value =
      [&self](std::uint32_t index, std::uint64_t first, std::uint64_t count, float* to) {
        const engine::TakenParameter& of = self.parameters[self.trainable[index]];
        const torch::Tensor& source = of.original.defined() ? of.original : of.tensor;
        const torch::NoGradGuard no_grad;
        const auto n = static_cast<std::int64_t>(count);
        torch::from_blob(to, {n}, torch::kFloat32)
            .copy_(source.detach().as_strided(
                {n}, {1}, source.storage_offset() + static_cast<std::int64_t>(first)));
        return Status();
      };
  if (!sharded.empty() && config.has_optimizer) {
    self.optimizer =
        zero::ShardedOptimizer::create(
            self.service->pages(), std::move(sharded), optimizer_options(config), exact_value)
            .value_or_throw();
    self.hooks = std::make_unique<engine::GradientHooks>(
        std::move(leaves), [&self](std::uint32_t index, const torch::Tensor& gradient) {
          self.on_gradient(index, gradient);
        });
  }
  for (engine::TakenParameter& parameter : self.parameters) {
    parameter.original = torch::Tensor();
  }
  self.service->pages().trim();  // what conversion and master copies left
  engine::claim(self.parameters, true);
}

Engine::~Engine() {
  impl_->hooks.reset();
  engine::claim(impl_->parameters, false);
  impl_->service->pages().end_step(StepKind::kTraining);
}

void Engine::Impl::on_gradient(std::uint32_t index, const torch::Tensor& gradient) {
  const engine::TakenParameter& parameter = parameters[trainable[index]];
  if (gradient.layout() != torch::kStrided) {
    throw Error(Status(StatusCode::kUnsupported,
                       concat("parameter '",
                              parameter.name,
                              "' has a sparse gradient; build the embedding with sparse(false)")));
  }
  torch::Tensor flat = gradient;
  if (gradient.strides() != parameter.tensor.strides()) {
    // In the order in which the parameter lies in memory.
    const torch::NoGradGuard no_grad;
    flat = torch::empty_strided(
        parameter.tensor.sizes(), parameter.tensor.strides(), gradient.options());
    flat.copy_(gradient);
  }
  if (flat.scalar_type() != torch::kBFloat16 && flat.scalar_type() != torch::kFloat32) {
    flat = flat.to(torch::kFloat32);
  }
  throw_if_error(optimizer->accumulate(index,
                                       flat.const_data_ptr(),
                                       flat.scalar_type() == torch::kBFloat16
                                           ? zero::ElementType::kBfloat16
                                           : zero::ElementType::kFloat32));
}

void Engine::Impl::ensure_usable() const {
  throw_if_error(failure);
  if (optimizer == nullptr) {
    throw Error(
        Status(StatusCode::kInvalidArgument,
               config.has_optimizer
                   ? "this engine trains nothing: no parameter required grad at initialize()"
                   : "this engine trains nothing: the configuration has no \"optimizer\" "
                     "section"));
  }
}

torch::Tensor Engine::backward(const torch::Tensor& loss) {
  Impl& self = *impl_;
  self.ensure_usable();
  if (!loss.defined() || loss.numel() != 1) {
    throw Error(Status(StatusCode::kInvalidArgument,
                       concat("backward needs a loss of one element, this one has ",
                              loss.defined() ? loss.numel() : 0,
                              "; reduce it with mean() or sum()")));
  }
  ++self.backwards;
  const ScopedTimer timer(self.report.backward_seconds);
  const auto divisor = static_cast<double>(self.config.gradient_accumulation_steps);
  torch::Tensor divided = divisor == 1.0 ? loss : loss / divisor;
  try {
    divided.backward();
  } catch (...) {
    self.backward_failed = true;
    throw;
  }
  return divided.detach();
}

bool Engine::is_gradient_accumulation_boundary() const {
  return (impl_->micro_steps + 1) % impl_->config.gradient_accumulation_steps == 0;
}

void Engine::step() {
  Impl& self = *impl_;
  self.ensure_usable();
  if (self.backward_failed) {
    throw Error(Status(
        StatusCode::kInvalidArgument,
        "a backward of this step failed, so its gradients are incomplete; call zero_grad() and "
        "repeat the step"));
  }
  const bool boundary = is_gradient_accumulation_boundary();
  if (boundary && self.backwards == 0) {
    throw Error(
        Status(StatusCode::kInvalidArgument,
               "step() without a backward() since the last step: there is nothing to apply"));
  }
  ++self.micro_steps;
  if (!boundary) {
    return;
  }
  self.backwards = 0;
  const ScopedTimer timer(self.report.step_seconds);
  Result<zero::StepOutcome> outcome = self.optimizer->step(self.lr);
  self.service->pages().end_step(StepKind::kTraining);
  if (!outcome.ok()) {
    self.failure = outcome.status().with_context(concat(
        "step ",
        self.global_steps + 1,
        " ended half done, its weights are a mix of two steps; start again from a saved state"));
    throw Error(self.failure);
  }
  self.applied = outcome.value().applied;
  self.norm = outcome.value().norm;
  ++self.global_steps;
  if (!self.applied) {
    ++self.skipped_steps;
    log_warning(concat("step ", self.global_steps, " skipped: a gradient is inf or nan"));
  }
}

void Engine::zero_grad() {
  Impl& self = *impl_;
  if (self.optimizer != nullptr) {
    self.optimizer->drop_gradients();
  }
  self.backward_failed = false;
  self.backwards = 0;
  self.micro_steps -= self.micro_steps % self.config.gradient_accumulation_steps;
}

Engine::ForwardScope::ForwardScope(Engine& engine, bool training)
    : engine_(engine), training_(training), start_(std::chrono::steady_clock::now()) {
  throw_if_error(engine_.impl_->failure);
  engine::check_unmoved(engine_.impl_->parameters);
  engine_.impl_->service->pages().begin_step(training ? StepKind::kTraining
                                                      : StepKind::kEvaluation);
}

Engine::ForwardScope::~ForwardScope() {
  if (!training_) {
    engine_.impl_->service->pages().end_step(StepKind::kEvaluation);
  }
  engine_.impl_->report.forward_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::optional<double> Engine::get_global_grad_norm() const {
  return impl_->norm;
}
bool Engine::was_step_applied() const {
  return impl_->applied;
}
double Engine::get_lr() const {
  return impl_->lr;
}
void Engine::set_lr(double lr) {
  if (!std::isfinite(lr) || lr < 0) {
    throw Error(Status(StatusCode::kInvalidArgument,
                       concat("set_lr(", lr, "): a learning rate is a number from 0 on")));
  }
  impl_->lr = lr;
}
std::uint64_t Engine::global_steps() const {
  return impl_->global_steps;
}
std::uint64_t Engine::global_samples() const {
  return impl_->global_steps * impl_->config.train_batch_size;
}
std::uint64_t Engine::skipped_steps() const {
  return impl_->skipped_steps;
}
std::uint64_t Engine::micro_steps() const {
  return impl_->micro_steps;
}
const Config& Engine::config() const {
  return impl_->config;
}
std::shared_ptr<Service> Engine::service() const {
  return impl_->service;
}
MemoryReport Engine::memory_report() const {
  return impl_->service->memory_report();
}

StepReport Engine::take_report() {
  StepReport report = std::exchange(impl_->report, StepReport());
  const residency::PageTableStats stats = impl_->service->pages().take_stats();
  report.stall_seconds = static_cast<double>(stats.stall_ns) * 1e-9;
  report.longest_stall_seconds = static_cast<double>(stats.longest_stall_ns) * 1e-9;
  report.longest_stall_page = stats.longest_stall_page;
  report.longest_stall_operator = stats.longest_stall_operator;
  report.uses = stats.uses;
  report.faults = stats.faults;
  report.hits = stats.uses - std::min(stats.uses, stats.faults);
  report.nvme_read_bytes = stats.moved.nvme_read_bytes;
  report.nvme_written_bytes = stats.moved.nvme_written_bytes;
  report.host_to_device_bytes = stats.moved.host_to_device_bytes;
  report.device_to_host_bytes = stats.moved.device_to_host_bytes;
  return report;
}

std::vector<std::string> Engine::parameter_names() const {
  std::vector<std::string> names;
  for (const engine::TakenParameter& parameter : impl_->parameters) {
    names.push_back(parameter.name);
  }
  return names;
}

std::uint32_t Engine::Impl::trainable_index(const std::string& name) const {
  const auto found = index_by_name.find(name);
  if (found == index_by_name.end() || optimizer == nullptr) {
    const bool frozen =
        std::any_of(parameters.begin(), parameters.end(), [&](const engine::TakenParameter& one) {
          return one.name == name;
        });
    throw Error(Status(StatusCode::kNotFound,
                       frozen
                           ? concat("parameter '", name, "' is not trained: it has no such state")
                           : concat("no parameter is called '",
                                    name,
                                    "'; Engine::parameter_names() lists all ",
                                    parameters.size())));
  }
  return found->second;
}

/// A full fp32 tensor in the shape and memory order of parameter `name`.
torch::Tensor Engine::Impl::read_full(
    const std::string& name, const std::function<Status(std::uint32_t, float*)>& read) const {
  const std::uint32_t index = trainable_index(name);
  const torch::Tensor& like = parameters[trainable[index]].tensor;
  torch::Tensor full = torch::empty_strided(like.sizes(), like.strides(), torch::kFloat32);
  throw_if_error(read(index, full.mutable_data_ptr<float>()));
  return full;
}

torch::Tensor Engine::get_full_fp32_param(const std::string& name) {
  for (const engine::TakenParameter& parameter : impl_->parameters) {
    if (parameter.name == name && !parameter.trainable) {
      const torch::NoGradGuard no_grad;
      return parameter.tensor.detach().to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
    }
  }
  return impl_->read_full(name, [&](std::uint32_t index, float* to) {
    return impl_->optimizer->read_weight(index, to);
  });
}

torch::Tensor Engine::get_full_optimizer_state(const std::string& name, const std::string& state) {
  if (state != "exp_avg" && state != "exp_avg_sq") {
    throw Error(Status(
        StatusCode::kInvalidArgument,
        concat("no optimizer state is called '", state, "'; there are exp_avg and exp_avg_sq")));
  }
  const auto kind = state == "exp_avg" ? zero::StateKind::kExpAvg : zero::StateKind::kExpAvgSq;
  return impl_->read_full(name, [&](std::uint32_t index, float* to) {
    return impl_->optimizer->read_state(index, kind, to);
  });
}

std::optional<torch::Tensor> Engine::get_full_grad(const std::string& name) {
  if (impl_->optimizer == nullptr ||
      impl_->optimizer->contributions(impl_->trainable_index(name)) == 0) {
    return std::nullopt;
  }
  return impl_->read_full(name, [&](std::uint32_t index, float* to) {
    return impl_->optimizer->read_gradient(index, to);
  });
}

}  // namespace stepwell
