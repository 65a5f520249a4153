#include "io/thread_engine.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <unistd.h>

#include "io/file.h"

namespace stepwell::io {
namespace {

class ThreadEngine final : public Engine {
 public:
  explicit ThreadEngine(const EngineOptions& options) : Engine(options.queue_depth) {
    const std::uint32_t count = std::max(1U, options.thread_count);
    for (std::uint32_t index = 0; index < count; ++index) {
      workers_.emplace_back([this] { work(); });
    }
  }

  ~ThreadEngine() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_there_.notify_all();
    for (std::thread& worker : workers_) {
      worker.join();
    }
  }

  const char* name() const override { return "threads"; }

 private:
  void do_submit(Op& op) override {
    {
      const std::lock_guard lock(mutex_);
      to_do_.push_back({&op, fd_of(op)});
    }
    work_there_.notify_one();
  }

  std::size_t do_reap(std::span<RawCompletion> completions,
                      std::chrono::nanoseconds timeout) override {
    std::unique_lock lock(mutex_);
    done_there_.wait_for(lock, timeout, [&] { return !done_.empty() || woken_; });
    woken_ = false;
    const std::size_t count = std::min(completions.size(), done_.size());
    std::copy_n(done_.begin(), count, completions.begin());
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

  void do_wake() override {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    done_there_.notify_all();
  }

  struct Work {
    Op* op = nullptr;
    int fd = -1;
  };

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      work_there_.wait(lock, [&] { return stopping_ || !to_do_.empty(); });
      if (to_do_.empty()) {
        return;
      }
      const Work next = to_do_.front();
      to_do_.pop_front();
      lock.unlock();
      const std::int64_t result = run(*next.op, next.fd);
      lock.lock();
      done_.push_back({next.op, result});
      done_there_.notify_all();
    }
  }

  static std::int64_t run(const Op& op, int fd) {
    const std::uint64_t done = op.done_bytes;
    const auto offset = static_cast<off_t>(op.offset + done);
    ssize_t result = 0;
    switch (op.direction) {
      case Direction::kRead:
        result = ::pread(fd, op.data + done, op.size_bytes - done, offset);
        break;
      case Direction::kWrite:
        result = ::pwrite(fd, op.data + done, op.size_bytes - done, offset);
        break;
      case Direction::kFlush:
        result = ::fdatasync(fd);
        break;
    }
    return result < 0 ? -errno : result;
  }

  std::mutex mutex_;
  std::condition_variable work_there_;
  std::condition_variable done_there_;
  std::deque<Work> to_do_;
  std::deque<RawCompletion> done_;
  bool stopping_ = false;
  bool woken_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_thread_engine(const EngineOptions& options) {
  return std::unique_ptr<Engine>(std::make_unique<ThreadEngine>(options));
}

}  // namespace stepwell::io
