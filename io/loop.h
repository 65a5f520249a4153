// The thread that drives an engine: takes ops from any thread, keeps the engine's queue full, runs
// callbacks.
#pragma once

#include <memory>
#include <span>

#include "io/engine.h"

namespace stepwell::io {

/// Thread-safe. Unbounded inbox (ops are intrusive, so it costs nothing); order of submission is
/// kept until the engine, which may complete in any order.
class Loop {
 public:
  explicit Loop(std::unique_ptr<Engine> engine);
  /// Completes what is in flight, then stops the thread. No enqueue() may run meanwhile or after.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Queues `op`. Its callback runs on the loop's thread. May be called from a callback.
  void enqueue(Op& op);
  /// Queues several at once with one wake-up.
  void enqueue(std::span<Op* const> ops);

  /// True on the loop's own thread.
  bool on_loop_thread() const;
  /// Snapshot of the engine's counters.
  EngineStats stats() const;
  const char* engine_name() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Convenience for callers that may block: runs one op on `loop` and returns its outcome. Not on
/// the loop's thread.
Status run_blocking(Loop& loop, Op& op);

}  // namespace stepwell::io
