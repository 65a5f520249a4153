// A decoder of the GPT-2 shape: learned positions, pre-norm blocks, tanh GELU, biases everywhere,
// and an output head that is the token embedding again.
//
// Plain LibTorch: nothing in it knows of pages. Weights of linear layers are [output, input], the
// transpose of GPT-2's weight files.
#pragma once

#include <cstdint>

#include <torch/torch.h>

namespace stepwell::models {

struct Gpt2Options {
  std::int64_t vocabulary = 256;
  std::int64_t context = 128;  // longest sequence
  std::int64_t width = 256;    // must be a multiple of heads
  std::int64_t layers = 6;
  std::int64_t heads = 4;
};

/// Parameters of such a model, the tied head counted once, without building it.
std::uint64_t parameter_count(const Gpt2Options& options);

/// One block: attention and feed-forward, each on a normed copy of the residual stream.
class Gpt2BlockImpl : public torch::nn::Module {
 public:
  explicit Gpt2BlockImpl(const Gpt2Options& options);
  /// [batch, length, width] -> the same shape.
  torch::Tensor forward(const torch::Tensor& hidden);

 private:
  torch::Tensor attend(const torch::Tensor& normed);

  std::int64_t heads_;
  torch::nn::LayerNorm attention_norm_{nullptr};
  torch::nn::Linear query_key_value_{nullptr};
  torch::nn::Linear attention_out_{nullptr};
  torch::nn::LayerNorm mlp_norm_{nullptr};
  torch::nn::Linear mlp_in_{nullptr};
  torch::nn::Linear mlp_out_{nullptr};
};
TORCH_MODULE(Gpt2Block);

/// Not thread-safe. Weights are drawn from torch's generator (torch::manual_seed) at construction:
/// normal with deviation 0.02, the projections into the residual stream with 0.02 / sqrt(2 layers);
/// biases 0. Throws stepwell::Error when the options do not fit together.
class Gpt2Impl : public torch::nn::Module {
 public:
  explicit Gpt2Impl(const Gpt2Options& options);

  /// Mean cross entropy in nats of `targets` given `tokens`, both int64 [batch, length]; a scalar
  /// in fp32.
  torch::Tensor forward(const torch::Tensor& tokens, const torch::Tensor& targets);
  /// Scores of the next token at each place: fp32 [batch, length, vocabulary], whatever the type of
  /// the parameters. Throws stepwell::Error when length exceeds the context.
  torch::Tensor logits(const torch::Tensor& tokens);

  const Gpt2Options& options() const { return options_; }

 private:
  Gpt2Options options_;
  torch::nn::Embedding token_embedding_{nullptr};
  torch::nn::Embedding position_embedding_{nullptr};
  torch::nn::ModuleList blocks_{nullptr};
  torch::nn::LayerNorm final_norm_{nullptr};
};
TORCH_MODULE(Gpt2);

}  // namespace stepwell::models
