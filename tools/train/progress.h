// The line that tells how a run goes: rewritten in place on a terminal, one every few steps
// elsewhere.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/train/records.h"

namespace stepwell::train {

/// Writes to standard error, so that standard output stays free for --json. Not thread-safe.
class Progress {
 public:
  struct Options {
    std::uint64_t steps = 0;        // of the run
    std::uint64_t print_every = 0;  // steps between plain lines
    bool phase_times = false;       // forward, backward and step times too
    bool quiet = false;
  };
  explicit Progress(const Options& options);

  void on_step(const StepRecord& record);
  void on_evaluation(std::uint64_t step, double eval_loss, double bigram_loss);
  /// Ends a live line.
  void finish();

 private:
  void print(std::uint64_t step);

  Options options_;
  bool live_ = false;
  bool line_open_ = false;
  double unprinted_seconds_ = 0;
  Totals since_print_;
};

}  // namespace stepwell::train
