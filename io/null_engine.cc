#include "io/null_engine.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace stepwell::io {
namespace {

class NullEngine final : public Engine {
 public:
  explicit NullEngine(const EngineOptions& options) : Engine(EngineKind::kNull, options) {
    done_.reserve(options.queue_depth);
  }

 private:
  void do_submit(const Call& call) override {
    done_.push_back({call.slot, static_cast<std::int64_t>(call.size_bytes)});
  }

  std::size_t do_reap(std::span<RawCompletion> completions,
                      std::chrono::nanoseconds timeout) override {
    if (done_.empty()) {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, timeout, [&] { return woken_; });
      woken_ = false;
      return 0;
    }
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
    wake_.notify_all();
  }

  std::vector<RawCompletion> done_;  // of the owner thread
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_null_engine(const EngineOptions& options) {
  return std::unique_ptr<Engine>(std::make_unique<NullEngine>(options));
}

}  // namespace stepwell::io
