// Asynchronous file I/O. The public face checks, continues short transfers, retries EINTR and
// EAGAIN, classifies errors and counts; an implementation only passes requests to a kernel
// interface and reaps them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/op.h"
#include "stepwell/status.h"

namespace stepwell::io {

enum class EngineKind : std::uint8_t { kAuto, kUring, kThreads, kNull };
/// "auto", "io_uring", "threads", "null".
const char* to_string(EngineKind kind);

/// The kind that a configuration names: "auto", "io_uring" or "threads".
Result<EngineKind> parse_engine_kind(std::string_view name);

struct EngineOptions {
  EngineKind kind = EngineKind::kAuto;  // auto: io_uring where the kernel allows it, else threads
  std::uint32_t queue_depth = 32;       // requests in flight
  std::uint32_t thread_count = 4;       // of the thread engine
};

/// What one engine did since it was made. Bytes count completed transfers only.
struct EngineStats {
  std::uint64_t read_requests = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t write_requests = 0;
  std::uint64_t write_bytes = 0;
  std::uint64_t failed_requests = 0;
  std::uint64_t resubmitted_requests =
      0;  // short transfers continued and interrupted calls retried
};

/// Owned by one thread (a Loop's): none of its functions is thread-safe.
class Engine {
 public:
  /// An engine of `options.kind`. kAuto never fails for want of io_uring: it falls back to threads
  /// and logs the reason and the cure (for example the seccomp profile of a container).
  static Result<std::unique_ptr<Engine>> create(const EngineOptions& options);

  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Takes `op` (state becomes pending). False when queue_depth() requests are in flight: try again
  /// after reap().
  bool try_submit(Op& op);
  /// Moves finished requests out of the kernel, at least one when `timeout` allows and any is in
  /// flight. Returns a chain of completed ops (linked by Op::next) with their outcome in Completion
  /// order; runs no callback.
  struct Completed {
    Op* op = nullptr;
    Status status;
  };
  /// Fills `completed` and returns how many. `timeout` zero: does not block.
  std::size_t reap(std::span<Completed> completed, std::chrono::nanoseconds timeout);
  /// Wakes a reap() that blocks in another thread. The only thread-safe call.
  void wake() { do_wake(); }

  std::uint32_t queue_depth() const { return queue_depth_; }
  std::uint32_t in_flight() const { return in_flight_; }
  virtual const char* name() const = 0;
  const EngineStats& stats() const { return stats_; }

 protected:
  explicit Engine(std::uint32_t queue_depth) : queue_depth_(queue_depth) {}

  /// Result of one kernel request: bytes transferred, or a negative errno value.
  struct RawCompletion {
    Op* op = nullptr;
    std::int64_t result = 0;
  };
  /// Hands the part of `op` from op.done_bytes on to the kernel. Never blocks for long, always
  /// accepts: the face keeps at most queue_depth() requests in flight. A failure is reported as a
  /// RawCompletion.
  virtual void do_submit(Op& op) = 0;
  virtual std::size_t do_reap(std::span<RawCompletion> completions,
                              std::chrono::nanoseconds timeout) = 0;
  virtual void do_wake() = 0;
  /// Descriptor for the part of `op` that is not done yet.
  static int fd_of(const Op& op);

 private:
  bool finished(Op& op, std::int64_t result, Status& status);
  Status failure(const Op& op, int os_error, const char* note);

  std::uint32_t queue_depth_;
  std::uint32_t in_flight_ = 0;
  EngineStats stats_;
  bool warned_buffered_ = false;
};

}  // namespace stepwell::io
