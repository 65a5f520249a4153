// Hands each gradient over as soon as autograd has it, so that it never stays in the tensor.
#pragma once

#include <functional>
#include <vector>

#include <torch/torch.h>

namespace stepwell::engine {

/// Called with the whole gradient of a parameter in one backward. May throw: the exception reaches
/// backward()'s caller.
using OnGradient = std::function<void(std::uint32_t index, const torch::Tensor& gradient)>;

/// Hooks on leaves, removed at destruction. The leaves' .grad is undefined after every hook.
class GradientHooks {
 public:
  GradientHooks(std::vector<torch::Tensor> leaves, OnGradient on_gradient);
  ~GradientHooks();
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

 private:
  std::vector<torch::Tensor> leaves_;
};

}  // namespace stepwell::engine
