// Trains a small net under a configuration, or in a plain LibTorch loop, and keeps every number
// that came out.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "stepwell/stepwell.h"

namespace stepwell::test {

/// Decoder-like net with what breaks naive offloading: a tied embedding, layers of very different
/// size, a norm.
struct TiedNet : torch::nn::Module {
  explicit TiedNet(std::int64_t width = 48);
  torch::Tensor forward(const torch::Tensor& tokens, const torch::Tensor& targets);

  torch::nn::Embedding embedding{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Sequential layers;
};

struct Batch {
  torch::Tensor tokens;
  torch::Tensor targets;
};
/// Batch number `index`: a pure function of it.
Batch batch_of(std::uint64_t index);

struct RunOptions {
  OffloadDevice parameters = OffloadDevice::kNone;
  OffloadDevice optimizer = OffloadDevice::kNone;
  Precision precision = Precision::kFp32;
  std::uint64_t accumulation = 1;
  double clipping = 0.0;
  std::uint64_t device_bytes = kAutoBytes;
  std::uint64_t host_bytes = kAutoBytes;
  std::uint64_t tile_elements = 32768;
  std::uint64_t prefetch_elements = 50'000'000;
  bool unified_memory = true;
  bool adam_w = true;
  bool deferred_construction = false;
  std::uint64_t steps = 10;
  std::string folder;
};

Config config_of(const RunOptions& options);

/// Everything a run is judged by.
struct RunResult {
  std::vector<float> losses;                     // of every micro-step
  std::vector<double> norms;                     // of every step
  std::map<std::string, torch::Tensor> weights;  // fp32
  std::map<std::string, torch::Tensor> exp_avg;
  std::map<std::string, torch::Tensor> exp_avg_sq;
  StepReport report;
  MemoryReport memory;
};

RunResult train(const RunOptions& options);
/// The same training with torch operators only: every step of the Adam formula one operator.
RunResult train_plain(const RunOptions& options);

/// Bit for bit.
void expect_equal(const RunResult& left, const RunResult& right);
/// Bit for bit, a map of tensors.
void expect_equal(const std::map<std::string, torch::Tensor>& left,
                  const std::map<std::string, torch::Tensor>& right,
                  const std::string& what);

}  // namespace stepwell::test
