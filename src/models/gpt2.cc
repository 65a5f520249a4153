#include "stepwell/models/gpt2.h"

#include <cmath>

#include "src/base/format.h"
#include "stepwell/status.h"

namespace stepwell::models {
namespace {

constexpr double kDeviation = 0.02;

// Each layer is initialised as soon as it exists: under zero::Init its pages may have left the
// device by the time the next one is built.

torch::nn::Linear make_linear(std::int64_t inputs, std::int64_t outputs, double deviation) {
  torch::nn::Linear linear(inputs, outputs);
  torch::nn::init::normal_(linear->weight, 0.0, deviation);
  torch::nn::init::zeros_(linear->bias);
  return linear;
}

torch::nn::Embedding make_embedding(std::int64_t rows, std::int64_t width) {
  torch::nn::Embedding embedding(rows, width);
  torch::nn::init::normal_(embedding->weight, 0.0, kDeviation);
  return embedding;
}

torch::nn::LayerNorm make_norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(1e-5));
}

void check_options(const Gpt2Options& options) {
  const bool positive = options.vocabulary > 0 && options.context > 0 && options.width > 0 &&
                        options.layers > 0 && options.heads > 0;
  if (!positive || options.width % options.heads != 0) {
    throw Error(Status(StatusCode::kInvalidArgument,
                       concat("model of vocabulary ",
                              options.vocabulary,
                              ", context ",
                              options.context,
                              ", width ",
                              options.width,
                              ", layers ",
                              options.layers,
                              ", heads ",
                              options.heads,
                              ": all must be above 0 and the width a multiple of the heads")));
  }
}

}  // namespace

std::uint64_t parameter_count(const Gpt2Options& options) {
  const auto width = static_cast<std::uint64_t>(options.width);
  const auto rows = static_cast<std::uint64_t>(options.vocabulary + options.context);
  // A block: 4 D^2 of attention and 8 D^2 of feed-forward weights; 9 D biases and 4 D norm.
  const std::uint64_t block = 12 * width * width + 13 * width;
  return rows * width + static_cast<std::uint64_t>(options.layers) * block + 2 * width;
}

Gpt2BlockImpl::Gpt2BlockImpl(const Gpt2Options& options) : heads_(options.heads) {
  const std::int64_t width = options.width;
  // The residual stream adds up 2 L projections; scaled so, its deviation does not grow with L.
  const double residual = kDeviation / std::sqrt(2.0 * static_cast<double>(options.layers));
  attention_norm_ = register_module("ln_1", make_norm(width));
  query_key_value_ = register_module("c_attn", make_linear(width, 3 * width, kDeviation));
  attention_out_ = register_module("attn_proj", make_linear(width, width, residual));
  mlp_norm_ = register_module("ln_2", make_norm(width));
  mlp_in_ = register_module("c_fc", make_linear(width, 4 * width, kDeviation));
  mlp_out_ = register_module("mlp_proj", make_linear(4 * width, width, residual));
}

torch::Tensor Gpt2BlockImpl::attend(const torch::Tensor& normed) {
  const std::int64_t batch = normed.size(0);
  const std::int64_t length = normed.size(1);
  const std::int64_t width = normed.size(2);
  const auto parts = query_key_value_->forward(normed)
                         .view({batch, length, 3, heads_, width / heads_})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
  const torch::Tensor mixed = at::scaled_dot_product_attention(
      parts[0], parts[1], parts[2], /*attn_mask=*/{}, /*dropout_p=*/0.0, /*is_causal=*/true);
  return attention_out_->forward(mixed.transpose(1, 2).reshape({batch, length, width}));
}

torch::Tensor Gpt2BlockImpl::forward(const torch::Tensor& hidden) {
  const torch::Tensor attended = hidden + attend(attention_norm_->forward(hidden));
  const torch::Tensor inner = torch::gelu(mlp_in_->forward(mlp_norm_->forward(attended)), "tanh");
  return attended + mlp_out_->forward(inner);
}

Gpt2Impl::Gpt2Impl(const Gpt2Options& options) : options_(options) {
  check_options(options);
  token_embedding_ = register_module("wte", make_embedding(options.vocabulary, options.width));
  position_embedding_ = register_module("wpe", make_embedding(options.context, options.width));
  blocks_ = register_module("h", torch::nn::ModuleList());
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    blocks_->push_back(Gpt2Block(options));
  }
  final_norm_ = register_module("ln_f", make_norm(options.width));
}

torch::Tensor Gpt2Impl::logits(const torch::Tensor& tokens) {
  const std::int64_t length = tokens.size(1);
  if (length > options_.context) {
    throw Error(Status(
        StatusCode::kInvalidArgument,
        concat(
            "a sequence of ", length, " tokens is longer than the context of ", options_.context)));
  }
  const torch::Tensor positions = torch::arange(length, tokens.options());
  torch::Tensor hidden =
      token_embedding_->forward(tokens) + position_embedding_->forward(positions);
  for (const auto& block : *blocks_) {
    hidden = block->as<Gpt2Block>()->forward(hidden);
  }
  return torch::matmul(final_norm_->forward(hidden), token_embedding_->weight.t())
      .to(torch::kFloat32);
}

torch::Tensor Gpt2Impl::forward(const torch::Tensor& tokens, const torch::Tensor& targets) {
  return torch::nn::functional::cross_entropy(logits(tokens).flatten(0, 1), targets.flatten());
}

}  // namespace stepwell::models
