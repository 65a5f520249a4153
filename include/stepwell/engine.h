// Training through the engine: initialize() takes a module and a configuration; forward, backward
// and step do the rest.
//
//   auto engine = stepwell::initialize(model,
//   stepwell::Config::load("zero3_nvme.json").value_or_throw()); for (auto& batch : batches) {
//     torch::Tensor loss = engine->forward(batch.input, batch.target);
//     engine->backward(loss);
//     engine->step();
//   }
//
// The module needs no change: its parameters become pages that are brought to the device when an
// operator uses them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/script.h>
#include <torch/torch.h>

#include "stepwell/config.h"
#include "stepwell/report.h"
#include "stepwell/zero.h"

namespace stepwell {

/// A parameter and its name in the model.
struct NamedParameter {
  std::string name;
  torch::Tensor tensor;
};

/// Training state of one model on one rank. Not thread-safe: one thread calls it (the autograd
/// threads that it causes are its own affair). Every function that fails throws stepwell::Error and
/// leaves the engine usable.
class Engine {
 public:
  /// Prefer initialize(). `parameters` are leaves; those that require grad are trained, the others
  /// only paged.
  Engine(std::vector<NamedParameter> parameters, const Config& config);
  virtual ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Differentiates `loss` (one element), divided by the number of accumulation steps, and adds the
  /// gradients to the shards of this rank. Returns the divided loss, detached.
  torch::Tensor backward(const torch::Tensor& loss);
  /// After every backward. On the boundary: norm, clipping, optimizer update; otherwise only counts
  /// the micro-step.
  void step();
  /// Whether the next step() updates the weights.
  bool is_gradient_accumulation_boundary() const;
  /// Drops gradients accumulated since the last update.
  void zero_grad();

  /// Global L2 norm of the last update's gradients before clipping; nothing before the first.
  std::optional<double> get_global_grad_norm() const;
  /// False when the last boundary found a gradient that is not finite and left the weights as they
  /// were.
  bool was_step_applied() const;
  double get_lr() const;
  void set_lr(double lr);
  std::uint64_t global_steps() const;
  std::uint64_t global_samples() const;
  std::uint64_t skipped_steps() const;
  std::uint64_t micro_steps() const;
  const Config& config() const;

  /// What happened since the last call (or construction): time, stall, faults, bytes per tier.
  StepReport take_report();
  /// Budgets and what is where, now.
  MemoryReport memory_report() const;

  /// Full fp32 weight of the parameter called `name`, wherever it lives (the master copy in bf16).
  torch::Tensor get_full_fp32_param(const std::string& name);
  /// Optimizer state "exp_avg" or "exp_avg_sq" of that parameter, fp32, in its shape.
  torch::Tensor get_full_optimizer_state(const std::string& name, const std::string& state);
  /// Accumulated fp32 gradient since the last update; nothing when it took no part in a backward.
  std::optional<torch::Tensor> get_full_grad(const std::string& name);
  std::vector<std::string> parameter_names() const;

  /// The tiers this engine uses; share it with zero::Init of another model or another engine.
  std::shared_ptr<Service> service() const;

 protected:
  /// Marks one forward call: checks the parameters, times it, and tells the schedule which kind of
  /// step it is.
  class ForwardScope {
   public:
    ForwardScope(Engine& engine, bool training);
    ~ForwardScope();
    ForwardScope(const ForwardScope&) = delete;
    ForwardScope& operator=(const ForwardScope&) = delete;

   private:
    Engine& engine_;
    bool training_;
    std::chrono::steady_clock::time_point start_;
  };

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Engine over a module of type M, whose forward it calls.
template <class M>
class ModuleEngine : public Engine {
 public:
  ModuleEngine(std::shared_ptr<M> module,
               std::vector<NamedParameter> parameters,
               const Config& config)
      : Engine(std::move(parameters), config), module_(std::move(module)) {}

  /// module->forward(arguments...).
  template <class... Arguments>
  auto forward(Arguments&&... arguments) {
    const ForwardScope scope(*this, module_->is_training() && torch::GradMode::is_enabled());
    return module_->forward(std::forward<Arguments>(arguments)...);
  }
  void train(bool on = true) { module_->train(on); }
  void eval() { module_->eval(); }
  M& module() { return *module_; }

 private:
  std::shared_ptr<M> module_;
};

/// The same over a TorchScript module: forward takes its inputs as a list of values.
template <>
class ModuleEngine<torch::jit::Module> : public Engine {
 public:
  ModuleEngine(torch::jit::Module module,
               std::vector<NamedParameter> parameters,
               const Config& config)
      : Engine(std::move(parameters), config), module_(std::move(module)) {}

  c10::IValue forward(std::vector<c10::IValue> inputs) {
    const ForwardScope scope(*this, module_.is_training() && torch::GradMode::is_enabled());
    return module_.forward(std::move(inputs));
  }
  void train(bool on = true) { module_.train(on); }
  void eval() { module_.eval(); }
  torch::jit::Module& module() { return module_; }

 private:
  torch::jit::Module module_;
};

/// Every parameter of `module`, in order of registration, tied ones once.
std::vector<NamedParameter> named_parameters_of(const torch::nn::Module& module);
std::vector<NamedParameter> named_parameters_of(const torch::jit::Module& module);

/// Takes over the parameters of `module` as `config` says. Throws stepwell::Error on a wrong
/// configuration, a folder that cannot be used, or budgets that cannot hold the model.
template <class M>
std::shared_ptr<ModuleEngine<M>> initialize(std::shared_ptr<M> module, const Config& config) {
  auto parameters = named_parameters_of(*module);
  return std::make_shared<ModuleEngine<M>>(std::move(module), std::move(parameters), config);
}

/// The same for a TorchScript module.
inline std::shared_ptr<ModuleEngine<torch::jit::Module>> initialize(
    const torch::jit::Module& module, const Config& config) {
  return std::make_shared<ModuleEngine<torch::jit::Module>>(
      module, named_parameters_of(module), config);
}

/// The same for a module holder (TORCH_MODULE).
template <class M>
std::shared_ptr<ModuleEngine<M>> initialize(const torch::nn::ModuleHolder<M>& module,
                                            const Config& config) {
  return initialize(module.ptr(), config);
}

}  // namespace stepwell
