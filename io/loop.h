// The thread that drives an engine: takes ops from any thread, keeps the engine's queue full by
// priority, runs callbacks, and watches that requests complete.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/engine.h"
#include "io/lease.h"
#include "stepwell/bytes.h"

namespace stepwell::io {

struct LoopOptions {
  /// Bytes handed to the kernel at a time; more waits in the loop. 0: no bound.
  std::uint64_t in_flight_bytes_max = 256 * kMiB;
  /// Requests that are neighbours in the file become one call of at most this size. 0: none do.
  std::uint64_t merged_bytes_max = kMiB;
  /// A request that the kernel has for longer is reported with all others in flight, cancelled, and
  /// ends with kTimedOut. 0: waited for without end.
  std::chrono::milliseconds deadline{60'000};
  std::vector<int> cpus;                        // cores that the thread may run on; empty: all
  bool check_leases = kLeasesCheckedByDefault;  // see lease.h
};

/// One direction as the callers see it.
struct RequestStats {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;  // of those that succeeded
  LatencySummary latency;   // from enqueue() to completion
};

struct LoopStats {
  RequestStats read;
  RequestStats write;
  std::chrono::nanoseconds busy{0};   // time with at least one request in the engine
  std::uint64_t failed_requests = 0;  // as the callers saw it, time-outs too
  std::uint64_t merged_requests = 0;  // went to the kernel together with others
  std::uint64_t timed_out_requests = 0;
  std::uint64_t waiting_requests = 0;    // now, not yet in the engine
  std::uint64_t in_flight_requests = 0;  // now, in the engine
  EngineStats engine;
};

/// Thread-safe. Queues any number of ops (they are intrusive, so it costs nothing).
class Loop {
 public:
  explicit Loop(std::unique_ptr<Engine> engine, LoopOptions options = {});
  /// Completes what is queued and in flight (at the latest by the deadline), then stops the thread.
  /// No enqueue() may run meanwhile or after.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Queues `op`. Its callback runs on the loop's thread. May be called from a callback.
  void enqueue(Op& op);
  /// Queues several at once with one wake-up.
  void enqueue(std::span<Op* const> ops);
  /// Changes the priority of `op` if it still waits in the loop; false otherwise. The op must not
  /// end meanwhile (the caller owns it).
  bool change_priority(Op& op, Priority priority);
  /// Gives `op` up if it still waits in the loop: its callback runs with kCancelled. False
  /// otherwise: it completes as usual. The op must not end meanwhile.
  bool cancel(Op& op);

  /// See Engine; returns when it is done. `file` and `memory` must outlive the loop.
  void register_file(const File& file);
  void register_memory(std::span<std::byte> memory);

  /// True on the loop's own thread.
  bool on_loop_thread() const;
  LoopStats stats() const;
  EngineReport report() const;
  const char* engine_name() const;
  /// One line for each request in the engine: what, and for how long.
  std::string in_flight_dump() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Convenience for callers that may block: runs one op on `loop` and returns its outcome. Not on
/// the loop's thread.
Status run_blocking(Loop& loop, Op& op);

}  // namespace stepwell::io
