// The model, the engine and the batches of a run. The only unit of the program that sees torch;
// this header does not.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "src/data/text.h"
#include "stepwell/config.h"
#include "tools/train/options.h"
#include "tools/train/records.h"

namespace stepwell::train {

/// Threads that operators use; 0 keeps LibTorch's own choice.
void set_thread_count(int threads);

/// Not thread-safe. Every function throws stepwell::Error on failure.
class Trainer {
 public:
  struct Options {
    ModelShape model;
    std::uint64_t seed = 1;
    std::uint64_t eval_windows = 64;  // rounded up to whole batches
    std::function<bool()> stopping;   // asked between batches: an evaluation may end early
  };
  /// Builds the model with paged parameters and takes it over. `text` must outlive the trainer.
  Trainer(const Options& options, const Config& config, const data::Text& text);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Optimizer step number `step` (from 1), with all its micro-steps. The record's report covers
  /// this step alone.
  StepRecord train_step(std::uint64_t step, double lr);
  /// Mean loss on fixed windows of the held-out text.
  double evaluate();

  std::uint64_t eval_windows() const;
  std::uint64_t parameters() const;
  MemoryReport memory_report() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepwell::train
