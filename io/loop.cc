#include "io/loop.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "stepwell/check.h"

namespace stepwell::io {
namespace {

/// First-in first-out chain of ops, linked through the ops themselves.
class OpQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  Op* front() const { return first_; }
  void push(Op& op) {
    op.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &op;
    last_ = &op;
  }
  void pop() {
    first_ = first_->next;
    last_ = first_ == nullptr ? nullptr : last_;
  }
  void append(OpQueue& other) {
    while (!other.empty()) {
      Op& op = *other.front();
      other.pop();
      push(op);
    }
  }

 private:
  Op* first_ = nullptr;
  Op* last_ = nullptr;
};

}  // namespace

struct Loop::Impl {
  explicit Impl(std::unique_ptr<Engine> driven) : engine(std::move(driven)) {}

  void run();
  bool take_inbox();
  void submit_waiting();
  void complete();

  std::unique_ptr<Engine> engine;
  mutable std::mutex mutex;
  OpQueue inbox;          // guarded by mutex
  bool stopping = false;  // guarded by mutex
  EngineStats snapshot;   // guarded by mutex
  OpQueue waiting;        // of the loop thread: taken from the inbox, not yet in the engine
  std::atomic<std::thread::id> thread_id;
  std::thread thread;
};

/// False when the loop has to end.
bool Loop::Impl::take_inbox() {
  const std::lock_guard lock(mutex);
  waiting.append(inbox);
  snapshot = engine->stats();
  return !stopping || !waiting.empty() || engine->in_flight() > 0;
}

void Loop::Impl::submit_waiting() {
  while (!waiting.empty()) {
    Op& op = *waiting.front();
    if (engine->in_flight() >= engine->queue_depth()) {
      return;
    }
    waiting.pop();
    STEPWELL_CHECK(engine->try_submit(op), "the engine has a free slot");
  }
}

void Loop::Impl::complete() {
  // Long enough to cost nothing, short enough that a lost wake-up would only delay.
  constexpr std::chrono::milliseconds kIdle(200);
  std::array<Engine::Completed, 32> completed;
  const std::size_t count = engine->reap(completed, kIdle);
  for (std::size_t index = 0; index < count; ++index) {
    Op& op = *completed[index].op;
    op.on_complete(op, completed[index].status);
  }
}

void Loop::Impl::run() {
  thread_id = std::this_thread::get_id();
  while (take_inbox()) {
    submit_waiting();
    complete();
  }
}

Loop::Loop(std::unique_ptr<Engine> engine) : impl_(std::make_unique<Impl>(std::move(engine))) {
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
  {
    const std::lock_guard lock(impl_->mutex);
    for (Op* op : ops) {
      STEPWELL_CHECK(!op->in_flight(), "enqueued twice: " + op->to_string());
      op->state = Op::State::kQueued;
      impl_->inbox.push(*op);
    }
  }
  if (!on_loop_thread()) {
    impl_->engine->wake();
  }
}

bool Loop::on_loop_thread() const {
  return std::this_thread::get_id() == impl_->thread_id.load();
}

EngineStats Loop::stats() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->snapshot;
}

const char* Loop::engine_name() const {
  return impl_->engine->name();
}

namespace {

/// Where run_blocking waits.
struct Gate {
  std::mutex mutex;
  std::condition_variable passed;
  bool open = false;
  Status status;
};

void open_gate(Op& op, const Status& status) noexcept {
  Gate& gate = *static_cast<Gate*>(op.context);
  const std::lock_guard lock(gate.mutex);
  gate.status = status;
  gate.open = true;
  gate.passed.notify_one();
}

}  // namespace

Status run_blocking(Loop& loop, Op& op) {
  STEPWELL_CHECK(!loop.on_loop_thread(), "the loop cannot wait for itself");
  Gate gate;
  op.context = &gate;
  op.on_complete = &open_gate;
  loop.enqueue(op);
  std::unique_lock lock(gate.mutex);
  gate.passed.wait(lock, [&] { return gate.open; });
  return gate.status;
}

}  // namespace stepwell::io
