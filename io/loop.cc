#include "io/loop.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include <pthread.h>

#include "io/file.h"
#include "io/run_and_wait.h"
#include "io/scheduler.h"
#include "src/base/format.h"
#include "stepwell/check.h"
#include "stepwell/log.h"

namespace stepwell::io {
namespace {

using Clock = Op::Clock;

/// Requests that one report of a late one lists.
constexpr std::size_t kDumpedMax = 32;

void run_on(const std::vector<int>& cpus) {
  if (cpus.empty()) {
    return;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) {
      CPU_SET(static_cast<std::size_t>(cpu), &set);
    }
  }
  const int failed = ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
  if (failed != 0) {
    log_warning(concat("the I/O thread is not bound to its cores: ", std::strerror(failed)));
  }
}

struct RequestCounters {
  Counter requests;
  Counter bytes;
  LatencyHistogram latency;
};

}  // namespace

// Note [Loop turns]
// ~~~~~~~~~~~~~~~~~
// One turn: under the lock, what waits goes to the engine as far as it has room; without the lock,
// the engine is reaped; under the lock, what came back leaves the books (parts of a failed merged
// request go back to the scheduler, one by one this time); without the lock, callbacks run.
// A late request is cancelled first. If the kernel does not give it back within the grace time
// either, it is abandoned: its slot stays taken, its callback runs with kTimedOut, and its buffer
// belongs to the kernel for good.

struct Loop::Impl {
  Impl(std::unique_ptr<Engine> driven, LoopOptions chosen)
      : engine(std::move(driven)),
        options(std::move(chosen)),
        scheduler({.queue_depth = engine->queue_depth(),
                   .in_flight_bytes_max = options.in_flight_bytes_max,
                   .merged_bytes_max = options.merged_bytes_max}) {}

  struct Ended {
    Op* op = nullptr;
    Status status;
  };

  void run();
  bool begin_turn();
  void fail_waiting(const Status& status);
  Clock::duration time_to_reap() const;
  void reap();
  void leave_books(Op& op, const Status& status);
  void watch();
  Status late(const Op& op) const;
  void run_callbacks();
  void end(const Ended& ended, Clock::time_point now);
  std::string dump() const;
  void run_on_thread(std::function<void()> work);

  const std::unique_ptr<Engine> engine;
  const LoopOptions options;
  mutable std::mutex mutex;
  Scheduler scheduler;                          // guarded by mutex
  OpList pending;                               // in the engine, oldest first; guarded by mutex
  std::vector<std::function<void()>> controls;  // to be run by the thread; guarded by mutex
  bool stopping = false;                        // guarded by mutex
  bool asleep = false;       // the thread waits and could take more; guarded by mutex
  Status broken;             // the engine did not start; of the thread
  std::vector<Ended> ended;  // callbacks to run; guarded by mutex
  RequestCounters reads;
  RequestCounters writes;
  Counter failed;
  Counter timed_out;
  Clock::duration busy{};        // finished stretches; guarded by mutex
  Clock::time_point busy_since;  // while something is pending; guarded by mutex
  std::atomic<std::thread::id> thread_id;
  std::thread thread;
};

void Loop::Impl::run() {
  thread_id = std::this_thread::get_id();
  run_on(options.cpus);
  broken = engine->start();
  while (begin_turn()) {
    reap();
    watch();
    run_callbacks();
  }
}

/// False when the loop has to end.
bool Loop::Impl::begin_turn() {
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(mutex);
    work.swap(controls);
  }
  for (const std::function<void()>& one : work) {
    one();
  }
  const std::lock_guard lock(mutex);
  if (!broken.ok()) {
    fail_waiting(broken);
  } else if (engine->free_slots() == 0 && engine->in_flight() == 0) {
    fail_waiting({StatusCode::kTimedOut,
                  concat("the device completes nothing any more: all ",
                         engine->queue_depth(),
                         " places of the queue are taken by requests that were given up")});
  }
  while (engine->free_slots() > 0) {
    Op* const op = scheduler.pop();
    if (op == nullptr) {
      break;
    }
    if (pending.empty()) {
      busy_since = Clock::now();
    }
    pending.push_back(*op);
    STEPWELL_CHECK(engine->try_submit(*op), "the engine has a free slot");
  }
  asleep = ended.empty() && controls.empty() && engine->free_slots() > 0;
  return !stopping || !scheduler.empty() || !pending.empty() || !ended.empty() || !controls.empty();
}

/// With the lock.
void Loop::Impl::fail_waiting(const Status& status) {
  for (Op* op = scheduler.pop(); op != nullptr; op = scheduler.pop()) {
    scheduler.finished(*op);
    if (MergedOp* const merged = Scheduler::as_merged(*op)) {
      while (!merged->members.empty()) {
        Op& member = merged->members.pop_front();
        ended.push_back({&member, status.with_context(member.to_string())});
      }
      scheduler.recycle(*merged);
    } else {
      ended.push_back({op, status.with_context(op->to_string())});
    }
  }
}

/// With the lock: how long the engine may be waited for.
Clock::duration Loop::Impl::time_to_reap() const {
  // Long enough to cost nothing, short enough that a lost wake-up would only delay.
  constexpr std::chrono::milliseconds kIdle(500);
  if (!ended.empty() || !controls.empty()) {
    return Clock::duration(0);
  }
  if (options.deadline.count() == 0 || pending.empty()) {
    return kIdle;
  }
  const std::chrono::milliseconds grace =
      pending.front()->overdue ? options.deadline / 10 : std::chrono::milliseconds(0);
  const Clock::time_point due = pending.front()->submitted_at + options.deadline + grace;
  constexpr std::chrono::milliseconds kSoonest(1);
  return std::clamp<Clock::duration>(due - Clock::now(), kSoonest, kIdle);
}

void Loop::Impl::reap() {
  Clock::duration timeout{};
  {
    const std::lock_guard lock(mutex);
    timeout = time_to_reap();
  }
  std::array<Engine::Completed, 64> completed;
  const std::size_t count = engine->reap(completed, timeout);
  const std::lock_guard lock(mutex);
  asleep = false;
  for (std::size_t index = 0; index < count; ++index) {
    leave_books(*completed[index].op, completed[index].status);
  }
}

/// With the lock: `op` is out of the engine.
void Loop::Impl::leave_books(Op& op, const Status& status) {
  pending.remove(op);
  if (pending.empty()) {
    busy += Clock::now() - busy_since;
  }
  scheduler.finished(op);
  MergedOp* const merged = Scheduler::as_merged(op);
  if (merged == nullptr) {
    ended.push_back({&op, status});
    return;
  }
  OpList again;
  while (!merged->members.empty()) {
    Op& member = merged->members.pop_front();
    member.done_bytes = status.ok() ? member.size_bytes : 0;
    member.abandoned = op.abandoned;
    if (status.ok() || status.code() == StatusCode::kTimedOut) {
      member.state = Op::State::kCompleted;
      ended.push_back({&member, status});
    } else {
      member.alone = true;
      again.push_front(member);
    }
  }
  while (!again.empty()) {
    scheduler.push_front(again.pop_front());
  }
  if (!op.abandoned) {
    scheduler.recycle(*merged);  // else the kernel may still read its list of parts: left to it
  }
}

/// What has been in the kernel for too long is cancelled, then given up.
void Loop::Impl::watch() {
  if (options.deadline.count() == 0) {
    return;
  }
  const std::lock_guard lock(mutex);
  const Clock::time_point now = Clock::now();
  Op* next = nullptr;
  for (Op* op = pending.front(); op != nullptr; op = next) {
    next = op->next;
    const Clock::duration age = now - op->submitted_at;
    if (age < options.deadline) {
      break;  // all others are younger
    }
    if (!op->overdue) {
      op->overdue = true;
      log(LogLevel::kError, late(*op).message());
      engine->cancel(*op);
    } else if (age >= options.deadline + options.deadline / 10) {
      const Status status = late(*op);
      engine->abandon(*op);
      leave_books(*op, status);
    }
  }
}

/// With the lock.
Status Loop::Impl::late(const Op& op) const {
  return {StatusCode::kTimedOut,
          concat("did not complete within ",
                 options.deadline.count(),
                 " ms (stepwell.io.deadline_seconds): ",
                 op.to_string(),
                 "; look at the device (dmesg). In flight:\n",
                 dump())};
}

/// With the lock.
std::string Loop::Impl::dump() const {
  const Clock::time_point now = Clock::now();
  std::string text;
  std::size_t listed = 0;
  for (const Op* op = pending.front(); op != nullptr && listed < kDumpedMax; op = op->next) {
    ++listed;
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - op->submitted_at);
    text += concat("  ",
                   io::to_string(op->direction),
                   " (",
                   io::to_string(op->priority),
                   ") of ",
                   op->size_bytes,
                   " bytes at offset ",
                   op->offset,
                   " of ",
                   op->file->path(),
                   ", for ",
                   age.count(),
                   " ms\n");
  }
  text += concat("  ",
                 pending.size(),
                 " in flight (",
                 listed,
                 " listed), ",
                 scheduler.waiting(),
                 " waiting, engine ",
                 engine->report().to_string());
  return text;
}

void Loop::Impl::run_callbacks() {
  std::vector<Ended> now_ended;
  {
    const std::lock_guard lock(mutex);
    now_ended.swap(ended);
  }
  if (now_ended.empty()) {
    return;
  }
  const Clock::time_point now = Clock::now();
  for (const Ended& one : now_ended) {
    end(one, now);
  }
  now_ended.clear();
  const std::lock_guard lock(mutex);
  if (ended.empty()) {
    ended.swap(now_ended);  // keeps the memory
  }
}

void Loop::Impl::end(const Ended& one, Clock::time_point now) {
  Op& op = *one.op;
  Status status = one.status;
  if (options.check_leases) {
    const Status lease = op.abandoned ? Status() : end_lease(op);
    status = status.ok() ? lease : status;
  }
  if (op.direction != Direction::kFlush) {
    RequestCounters& counters = op.direction == Direction::kRead ? reads : writes;
    counters.requests.add();
    counters.bytes.add(status.ok() ? op.size_bytes : 0);
    counters.latency.record(now - op.queued_at);
  }
  failed.add(status.ok() ? 0 : 1);
  timed_out.add(status.code() == StatusCode::kTimedOut ? 1 : 0);
  op.state = Op::State::kCompleted;
  op.alone = false;
  op.on_complete(op, status);
}

void Loop::Impl::run_on_thread(std::function<void()> work) {
  if (std::this_thread::get_id() == thread_id.load()) {
    work();
    return;
  }
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex);
    controls.push_back([&] {
      work();
      done.set_value();
    });
  }
  engine->wake();
  done.get_future().wait();
}

Loop::Loop(std::unique_ptr<Engine> engine, LoopOptions options)
    : impl_(std::make_unique<Impl>(std::move(engine), std::move(options))) {
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

Loop::~Loop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->engine->wake();
  impl_->thread.join();
}

void Loop::enqueue(Op& op) {
  Op* const one = &op;
  enqueue(std::span(&one, 1));
}

void Loop::enqueue(std::span<Op* const> ops) {
  const Clock::time_point now = Clock::now();
  for (Op* op : ops) {
    STEPWELL_CHECK(!op->in_flight(), "enqueued twice: " + op->to_string());
    STEPWELL_CHECK(!op->abandoned, "its buffer is not free: " + op->to_string());
    op->queued_at = now;
    op->loop = this;
    if (impl_->options.check_leases) {
      begin_lease(*op, !impl_->engine->copies_in_user_space());
    }
  }
  bool wake = false;
  {
    const std::lock_guard lock(impl_->mutex);
    for (Op* op : ops) {
      op->state = Op::State::kQueued;
      impl_->scheduler.push(*op);
    }
    wake = std::exchange(impl_->asleep, false);
  }
  if (wake) {
    impl_->engine->wake();
  }
}

bool Loop::change_priority(Op& op, Priority priority) {
  const std::lock_guard lock(impl_->mutex);
  if (!op.waiting) {
    return false;
  }
  impl_->scheduler.change_priority(op, priority);
  return true;
}

bool Loop::cancel(Op& op) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (!op.waiting) {
      return false;
    }
    impl_->scheduler.remove(op);
    impl_->ended.push_back(
        {&op, Status(StatusCode::kCancelled, "given up before it began: " + op.to_string())});
  }
  impl_->engine->wake();
  return true;
}

void Loop::register_file(const File& file) {
  impl_->run_on_thread([&] { impl_->engine->register_file(file); });
}

void Loop::register_memory(std::span<std::byte> memory) {
  impl_->run_on_thread([&] { impl_->engine->register_memory(memory); });
}

bool Loop::on_loop_thread() const {
  return std::this_thread::get_id() == impl_->thread_id.load();
}

LoopStats Loop::stats() const {
  const auto of = [](const RequestCounters& counters) {
    return RequestStats{.requests = counters.requests.value(),
                        .bytes = counters.bytes.value(),
                        .latency = counters.latency.summary()};
  };
  LoopStats stats{.read = of(impl_->reads),
                  .write = of(impl_->writes),
                  .failed_requests = impl_->failed.value(),
                  .timed_out_requests = impl_->timed_out.value(),
                  .engine = impl_->engine->stats()};
  const std::lock_guard lock(impl_->mutex);
  stats.busy = impl_->busy;
  if (!impl_->pending.empty()) {
    stats.busy += Clock::now() - impl_->busy_since;
  }
  stats.merged_requests = impl_->scheduler.merged_requests();
  stats.waiting_requests = impl_->scheduler.waiting();
  stats.in_flight_requests = impl_->pending.size();
  return stats;
}

EngineReport Loop::report() const {
  return impl_->engine->report();
}

const char* Loop::engine_name() const {
  return impl_->engine->name();
}

std::string Loop::in_flight_dump() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->dump();
}

Status run_blocking(Loop& loop, Op& op) {
  STEPWELL_CHECK(!loop.on_loop_thread(), "the loop cannot wait for itself");
  return run_and_wait(op, [&] { loop.enqueue(op); });
}

}  // namespace stepwell::io
