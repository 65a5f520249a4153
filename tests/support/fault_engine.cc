#include "tests/support/fault_engine.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <unistd.h>

namespace stepwell::test {

void FaultControl::fail(io::Direction direction, int os_error, std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  (direction == io::Direction::kRead ? reads_ : writes_) = {os_error, count};
}

void FaultControl::shorten(bool on) {
  const std::lock_guard lock(mutex_);
  shorten_ = on;
}

void FaultControl::hold() {
  const std::lock_guard lock(mutex_);
  holding_ = true;
}

void FaultControl::resume() {
  const std::lock_guard lock(mutex_);
  holding_ = false;
  changed_.notify_all();
}

void FaultControl::lose(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  to_lose_ = count;
}

void FaultControl::answer_lost() {
  const std::lock_guard lock(mutex_);
  answer_lost_ = true;
  changed_.notify_all();
}

void FaultControl::heal() {
  const std::lock_guard lock(mutex_);
  reads_ = writes_ = {};
  shorten_ = false;
  holding_ = false;
  changed_.notify_all();
}

void FaultControl::wait_for_held(std::uint64_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return held_ >= count; });
}

/// Moves the bytes when the request is reaped, one at a time, on the loop's thread.
class FaultEngine final : public io::Engine {
 public:
  explicit FaultEngine(std::shared_ptr<FaultControl> control)
      : Engine(io::EngineKind::kNull, {.kind = io::EngineKind::kNull, .queue_depth = kQueueDepth}),
        control_(std::move(control)) {}
  bool copies_in_user_space() const override { return true; }

 private:
  static constexpr std::uint32_t kQueueDepth = 8;

  void do_submit(const Call& call) override {
    const std::lock_guard lock(control_->mutex_);
    if (control_->to_lose_ > 0) {
      --control_->to_lose_;
      lost_.push_back(call);
      return;
    }
    queue_.push_back(call);
    control_->held_ = queue_.size();
    control_->changed_.notify_all();
  }

  std::size_t do_reap(std::span<RawCompletion> completions,
                      std::chrono::nanoseconds timeout) override {
    std::uint64_t bytes_max = UINT64_MAX;
    int os_error = 0;
    {
      std::unique_lock lock(control_->mutex_);
      control_->changed_.wait_for(lock, timeout, [&] {
        return control_->woken_ || (!queue_.empty() && !control_->holding_) ||
               (control_->answer_lost_ && !lost_.empty());
      });
      control_->woken_ = false;
      if (control_->answer_lost_) {
        queue_.insert(queue_.end(), lost_.begin(), lost_.end());
        lost_.clear();
      }
      if (queue_.empty() || control_->holding_ || completions.empty()) {
        return 0;
      }
      os_error = next_failure(queue_.front());
      if (control_->shorten_ && ++control_->requests_ % 2 == 0) {
        bytes_max = (queue_.front().size_bytes + 1) / 2;
      }
      control_->held_ = queue_.size() - 1;
    }
    const Call call = queue_.front();
    queue_.pop_front();
    completions[0] = {call.slot, os_error != 0 ? -os_error : transfer(call, bytes_max)};
    return 1;
  }

  void do_wake() override {
    const std::lock_guard lock(control_->mutex_);
    control_->woken_ = true;
    control_->changed_.notify_all();
  }

  int next_failure(const Call& call) {
    FaultControl::Failures& failures =
        call.direction == io::Direction::kRead ? control_->reads_ : control_->writes_;
    if (failures.left == 0) {
      return 0;
    }
    --failures.left;
    return failures.os_error;
  }

  static std::int64_t transfer(const Call& call, std::uint64_t bytes_max) {
    if (call.direction == io::Direction::kFlush) {
      return ::fdatasync(call.fd) == 0 ? 0 : -errno;
    }
    // Of a merged request only the first piece: a short transfer.
    std::byte* const data = call.part_count > 0 ? call.parts[0].data : call.data;
    const std::uint64_t bytes =
        std::min(call.part_count > 0 ? call.parts[0].size_bytes : call.size_bytes, bytes_max);
    const auto offset = static_cast<off_t>(call.offset);
    const ssize_t moved = call.direction == io::Direction::kRead
                              ? ::pread(call.fd, data, bytes, offset)
                              : ::pwrite(call.fd, data, bytes, offset);
    return moved < 0 ? -errno : moved;
  }

  std::shared_ptr<FaultControl> control_;
  std::deque<Call> lost_;   // of the loop's thread
  std::deque<Call> queue_;  // of the loop's thread
};

std::unique_ptr<io::Engine> make_fault_engine(std::shared_ptr<FaultControl> control) {
  return std::make_unique<FaultEngine>(std::move(control));
}

}  // namespace stepwell::test
