#include "io/thread_engine.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include "io/vectored.h"
#include "src/base/format.h"

namespace stepwell::io {
namespace {

/// System calls without the C library's wrappers: sanitizers look into buffers there, and these are
/// leased (lease.h).
template <class... Args>
std::int64_t call_kernel(long number, Args... args) {
  const long result = ::syscall(number, args...);
  return result < 0 ? -errno : result;
}

class ThreadEngine final : public Engine {
 public:
  explicit ThreadEngine(const EngineOptions& options) : Engine(EngineKind::kThreads, options) {
    const std::uint32_t count = std::max(1U, options.thread_count);
    for (std::uint32_t index = 0; index < count; ++index) {
      workers_.emplace_back([shared = shared_] { work(*shared); });
    }
    add_feature(concat("threads ", count));
  }

  ~ThreadEngine() override {
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->stopping = true;
    }
    shared_->work_there.notify_all();
    for (std::thread& worker : workers_) {
      // A worker whose call never returns is left to the end of the process.
      abandoned() > 0 ? worker.detach() : worker.join();
    }
  }

 private:
  using Outcome = RawCompletion;

  /// Outlives the engine when a worker is stuck.
  struct Shared {
    std::mutex mutex;
    std::condition_variable work_there;
    std::condition_variable done_there;
    std::deque<Call> to_do;
    std::deque<Outcome> done;
    bool stopping = false;
    bool woken = false;
  };

  void do_submit(const Call& call) override {
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->to_do.push_back(call);
    }
    shared_->work_there.notify_one();
  }

  std::size_t do_reap(std::span<RawCompletion> completions,
                      std::chrono::nanoseconds timeout) override {
    std::unique_lock lock(shared_->mutex);
    if (timeout.count() > 0) {
      shared_->done_there.wait_for(
          lock, timeout, [&] { return !shared_->done.empty() || shared_->woken; });
    }
    shared_->woken = false;
    const std::size_t count = std::min(completions.size(), shared_->done.size());
    std::copy_n(shared_->done.begin(), count, completions.begin());
    shared_->done.erase(shared_->done.begin(),
                        shared_->done.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

  /// What no worker has begun can be given up; a call that runs cannot.
  void do_cancel(std::uint32_t slot) override {
    const std::lock_guard lock(shared_->mutex);
    const auto found = std::find_if(shared_->to_do.begin(),
                                    shared_->to_do.end(),
                                    [&](const Call& call) { return call.slot == slot; });
    if (found != shared_->to_do.end()) {
      shared_->to_do.erase(found);
      shared_->done.push_back({slot, -ECANCELED});
    }
  }

  void do_wake() override {
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->woken = true;
    }
    shared_->done_there.notify_all();
  }

  static void work(Shared& shared) {
    std::unique_lock lock(shared.mutex);
    while (true) {
      shared.work_there.wait(lock, [&] { return shared.stopping || !shared.to_do.empty(); });
      if (shared.to_do.empty()) {
        return;
      }
      const Call call = shared.to_do.front();
      shared.to_do.pop_front();
      lock.unlock();
      const std::int64_t result = run(call);
      lock.lock();
      shared.done.push_back({call.slot, result});
      shared.done_there.notify_all();
    }
  }

  static std::int64_t run(const Call& call) {
    const bool read = call.direction == Direction::kRead;
    if (call.direction == Direction::kFlush) {
      return call_kernel(SYS_fdatasync, call.fd);
    }
    if (call.part_count > 0) {
      return call_kernel(read ? SYS_preadv : SYS_pwritev,
                         call.fd,
                         as_iovec(call.parts),
                         static_cast<unsigned long>(call.part_count),
                         call.offset,
                         0UL);
    }
    return call_kernel(
        read ? SYS_pread64 : SYS_pwrite64, call.fd, call.data, call.size_bytes, call.offset);
  }

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::vector<std::thread> workers_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_thread_engine(const EngineOptions& options) {
  return std::unique_ptr<Engine>(std::make_unique<ThreadEngine>(options));
}

}  // namespace stepwell::io
