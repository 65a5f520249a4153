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
      : Engine(kQueueDepth), control_(std::move(control)) {}
  const char* name() const override { return "faulty"; }

 private:
  static constexpr std::uint32_t kQueueDepth = 8;

  void do_submit(io::Op& op) override {
    queue_.push_back(&op);
    const std::lock_guard lock(control_->mutex_);
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
        return control_->woken_ || (!queue_.empty() && !control_->holding_);
      });
      control_->woken_ = false;
      if (queue_.empty() || control_->holding_ || completions.empty()) {
        return 0;
      }
      os_error = next_failure(*queue_.front());
      if (control_->shorten_ && ++control_->requests_ % 2 == 0) {
        bytes_max = (queue_.front()->size_bytes - queue_.front()->done_bytes + 1) / 2;
      }
      control_->held_ = queue_.size() - 1;
    }
    io::Op& op = *queue_.front();
    queue_.pop_front();
    completions[0] = {&op, os_error != 0 ? -os_error : transfer(op, bytes_max)};
    return 1;
  }

  void do_wake() override {
    const std::lock_guard lock(control_->mutex_);
    control_->woken_ = true;
    control_->changed_.notify_all();
  }

  int next_failure(const io::Op& op) {
    FaultControl::Failures& failures =
        op.direction == io::Direction::kRead ? control_->reads_ : control_->writes_;
    if (failures.left == 0) {
      return 0;
    }
    --failures.left;
    return failures.os_error;
  }

  static std::int64_t transfer(io::Op& op, std::uint64_t bytes_max) {
    const std::uint64_t bytes = std::min(op.size_bytes - op.done_bytes, bytes_max);
    const auto offset = static_cast<off_t>(op.offset + op.done_bytes);
    std::byte* data = op.data + op.done_bytes;
    const ssize_t moved = op.direction == io::Direction::kRead
                              ? ::pread(fd_of(op), data, bytes, offset)
                              : ::pwrite(fd_of(op), data, bytes, offset);
    return moved < 0 ? -errno : moved;
  }

  std::shared_ptr<FaultControl> control_;
  std::deque<io::Op*> queue_;  // of the loop's thread
};

std::unique_ptr<io::Engine> make_fault_engine(std::shared_ptr<FaultControl> control) {
  return std::make_unique<FaultEngine>(std::move(control));
}

}  // namespace stepwell::test
