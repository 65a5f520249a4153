#include "src/engine/gradient_hooks.h"

#include <memory>
#include <utility>

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace stepwell::engine {
namespace {

/// Runs after autograd has put the gradient of one backward into .grad.
class GradientHook final : public torch::autograd::PostAccumulateGradHook {
 public:
  GradientHook(std::uint32_t index, OnGradient on_gradient)
      : index_(index), on_gradient_(std::move(on_gradient)) {}

  void operator()(const torch::autograd::Variable& leaf) override {
    torch::Tensor gradient = std::exchange(leaf.mutable_grad(), torch::Tensor());
    on_gradient_(index_, gradient);
  }

 private:
  std::uint32_t index_;
  OnGradient on_gradient_;
};

}  // namespace

GradientHooks::GradientHooks(std::vector<torch::Tensor> leaves, OnGradient on_gradient)
    : leaves_(std::move(leaves)) {
  for (std::uint32_t index = 0; index < leaves_.size(); ++index) {
    torch::autograd::impl::set_post_acc_grad_hooks(
        leaves_[index], std::make_unique<GradientHook>(index, on_gradient));
  }
}

GradientHooks::~GradientHooks() {
  for (const torch::Tensor& leaf : leaves_) {
    torch::autograd::impl::set_post_acc_grad_hooks(leaf, nullptr);
  }
}

}  // namespace stepwell::engine
