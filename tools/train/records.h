// What a run did, step by step and as a whole: plain numbers, free of torch, for the progress line,
// the log and the summary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepwell/report.h"

namespace stepwell::train {

struct StepRecord {
  std::uint64_t step = 0;  // from 1
  double loss = 0;         // nats a byte, mean over the micro-steps
  double lr = 0;
  std::optional<double> grad_norm;
  bool applied = true;  // false: the gradients were not finite
  std::uint64_t tokens = 0;
  double seconds = 0;
  StepReport report;
  std::optional<double> eval_loss;
};

/// Sums over steps.
struct Totals {
  std::uint64_t steps = 0;
  std::uint64_t skipped = 0;
  std::uint64_t tokens = 0;
  double loss = 0;
  double seconds = 0;
  StepReport report;

  void add(const StepRecord& record);
  double mean_loss() const { return steps == 0 ? 0 : loss / static_cast<double>(steps); }
  double tokens_per_second() const {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
  }
  /// Part of the time in which operators waited for pages, 0 to 1.
  double stall_share() const { return seconds > 0 ? report.stall_seconds / seconds : 0; }
};

struct Summary {
  std::uint64_t parameters = 0;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t optimizer_bytes = 0;  // Adam's moments, and the fp32 copy of 16-bit parameters
  std::uint64_t gradient_bytes = 0;
  std::string precision;
  std::string data;
  MemoryReport memory;
  std::uint64_t peak_resident_bytes = 0;
  Totals totals;
  double train_loss = 0;  // mean of the last steps
  std::uint64_t train_loss_steps = 0;
  double eval_loss = 0;
  std::uint64_t eval_windows = 0;
  double bigram_loss = 0;
  int stopped_by = 0;  // signal, or 0

  bool below_bigram() const { return eval_loss < bigram_loss; }
};

}  // namespace stepwell::train
