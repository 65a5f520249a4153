// Asynchronous file I/O. The public face checks, continues short transfers, retries EINTR and
// EAGAIN, classifies errors and counts; an implementation only passes calls to a kernel interface
// and reaps them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/counters.h"
#include "io/op.h"
#include "stepwell/status.h"

namespace stepwell::io {

enum class EngineKind : std::uint8_t { kAuto, kUring, kLibaio, kThreads, kNull };
/// "auto", "io_uring", "libaio", "threads", "null".
const char* to_string(EngineKind kind);

/// The kind that a configuration names: all but "null".
Result<EngineKind> parse_engine_kind(std::string_view name);

struct EngineOptions {
  EngineKind kind = EngineKind::kAuto;  // auto: the first of io_uring, libaio, threads that works
  std::uint32_t queue_depth = 32;       // calls in flight
  std::uint32_t thread_count = 4;       // of the thread engine
  /// io_uring: a kernel thread takes calls without a system call (SQPOLL). Costs a core.
  bool submission_polling = false;
  /// io_uring: completions of direct I/O are polled for, not interrupted by (IOPOLL). Costs a core,
  /// and needs a device with polling queues.
  bool completion_polling = false;
};

/// What was asked for and what runs.
struct EngineReport {
  EngineKind requested = EngineKind::kAuto;
  EngineKind effective = EngineKind::kAuto;
  std::uint32_t queue_depth = 0;
  std::vector<std::string> features;  // in use, for example "single issuer"
  /// What is not used although it was asked for or would help: what, why, and the cure.
  std::vector<std::string> refusals;
  /// "io_uring (asked for: auto), queue depth 32, single issuer; not: ...".
  std::string to_string() const;
};

/// Calls to the kernel, of one direction.
struct DirectionStats {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;  // of completed requests
  LatencySummary latency;   // of the device: from handing over to completion, errors too
};

/// What one engine did since it was made.
struct EngineStats {
  DirectionStats read;
  DirectionStats write;
  std::uint64_t flushes = 0;
  std::uint64_t failed_requests = 0;
  std::uint64_t resubmitted_calls = 0;  // short transfers continued, interrupted calls retried
  std::uint64_t abandoned_requests = 0;
};

/// Owned by one thread (a Loop's): only wake(), stats() and report() may be called by others.
class Engine {
 public:
  /// An engine of `options.kind`. kAuto never fails for want of a kernel interface: it falls back
  /// to the next and logs the reason and the cure (for example the seccomp profile of a container).
  static Result<std::unique_ptr<Engine>> create(const EngineOptions& options);

  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// To be called once by the owner, before the first request.
  Status start();
  /// Lets the kernel keep `file` at hand. It must stay open as long as the engine lives. Not
  /// possible here: nothing changes, the report says why.
  void register_file(const File& file) { do_register_file(file); }
  /// Lets the kernel keep the pages of `memory` at hand, so that requests inside cost less. It must
  /// stay mapped as long as the engine lives. Not possible here: nothing changes, the report says
  /// why.
  void register_memory(std::span<std::byte> memory) { do_register_memory(memory); }

  /// Takes `op` (state becomes pending). False when no slot is free: try again after reap().
  bool try_submit(Op& op);
  struct Completed {
    Op* op = nullptr;
    Status status;
  };
  /// Moves finished requests out of the kernel, at least one when `timeout` allows and any is in
  /// flight. Fills `completed` and returns how many; runs no callback. `timeout` zero: does not
  /// block.
  std::size_t reap(std::span<Completed> completed, std::chrono::nanoseconds timeout);
  /// Asks the kernel to give `op` up; its completion still comes through reap(), if it comes.
  void cancel(const Op& op) { do_cancel(op.slot); }
  /// Forgets `op`, which the kernel does not complete: its slot stays taken until it does. The
  /// buffer stays in the kernel's hands.
  void abandon(Op& op);
  /// Wakes a reap() that blocks in another thread. Thread-safe.
  void wake() { do_wake(); }

  std::uint32_t queue_depth() const { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t in_flight() const { return in_flight_; }  // without abandoned ones
  std::uint32_t abandoned() const { return abandoned_now_; }
  std::uint32_t free_slots() const { return static_cast<std::uint32_t>(free_slots_.size()); }
  const char* name() const { return to_string(kind_); }
  EngineReport report() const;
  EngineStats stats() const;
  /// True when user code moves the bytes (test engines): leases may then not poison them.
  virtual bool copies_in_user_space() const { return false; }

 protected:
  Engine(EngineKind kind, const EngineOptions& options);

  /// One call to the kernel, by value: nothing of the op is needed once it is made.
  struct Call {
    std::uint32_t slot = 0;
    Direction direction = Direction::kRead;
    int fd = -1;
    bool direct = false;  // fd is open for direct I/O
    std::byte* data = nullptr;
    std::uint64_t size_bytes = 0;
    std::uint64_t offset = 0;
    const Part* parts = nullptr;
    std::uint32_t part_count = 0;
    const File* file = nullptr;  // only to tell files apart
  };
  /// Bytes transferred, or a negative errno value.
  struct RawCompletion {
    std::uint32_t slot = 0;
    std::int64_t result = 0;
  };
  virtual Status do_start() { return {}; }
  virtual void do_register_file(const File& /*file*/) {}
  virtual void do_register_memory(std::span<std::byte> /*memory*/) {}
  /// Hands `call` to the kernel. Never blocks for long, always accepts: the face keeps at most
  /// queue_depth() calls in flight. A failure is reported as a RawCompletion.
  virtual void do_submit(const Call& call) = 0;
  virtual std::size_t do_reap(std::span<RawCompletion> completions,
                              std::chrono::nanoseconds timeout) = 0;
  virtual void do_cancel(std::uint32_t /*slot*/) {}
  virtual void do_wake() = 0;

  void add_feature(std::string feature);
  void add_refusal(std::string refusal);
  /// The depth that the kernel allows is smaller than what was asked for. Before start().
  void set_queue_depth(std::uint32_t queue_depth);

 private:
  struct DirectionCounters {
    Counter calls;
    Counter bytes;
    LatencyHistogram latency;
  };
  void submit_rest(Op& op);
  bool finished(Op& op, std::int64_t result, Status& status);
  Status failure(const Op& op, int os_error, const char* note);

  std::vector<Op*> slots_;  // null: free or abandoned
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t in_flight_ = 0;
  std::uint32_t abandoned_now_ = 0;
  const EngineKind kind_;
  mutable std::mutex report_mutex_;
  EngineReport report_;  // guarded by report_mutex_
  DirectionCounters read_;
  DirectionCounters write_;
  Counter flushes_;
  Counter failed_requests_;
  Counter resubmitted_calls_;
  Counter abandoned_requests_;
  bool started_ = false;
  bool warned_buffered_ = false;
};

}  // namespace stepwell::io
