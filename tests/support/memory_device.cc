#include "tests/support/memory_device.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <utility>

#include "io/file.h"

namespace stepwell::test {

MemoryDevice::MemoryDevice(const MemoryDeviceOptions& options)
    : options_(options), random_(options.seed) {}

std::vector<std::byte> MemoryDevice::bytes_of(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(path);
  return found == files_.end() ? std::vector<std::byte>() : found->second;
}

void MemoryDevice::flip_bit(const std::string& path, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  files_.at(path).at(offset) ^= std::byte{1};
}

bool MemoryDevice::happens(double share) {
  return std::uniform_real_distribution<>(0, 1)(random_) < share;
}

std::uint64_t MemoryDevice::below(std::uint64_t bound) {
  return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(random_);
}

/// What a kernel call would answer: bytes moved, or a negative errno value.
std::int64_t MemoryDevice::transfer(const io::File& file_name,
                                    io::Direction direction,
                                    std::uint64_t offset,
                                    std::span<std::byte> memory) {
  const std::lock_guard lock(mutex_);
  if (happens(options_.interrupted_share)) {
    return happens(0.5) ? -EINTR : -EAGAIN;
  }
  if (direction == io::Direction::kFlush) {
    return 0;
  }
  std::uint64_t bytes = memory.size();
  if (bytes > 1 && happens(options_.short_share)) {
    bytes = 1 + below(bytes - 1);
  }
  std::byte* const data = memory.data();
  std::vector<std::byte>& file = files_[file_name.path()];
  if (direction == io::Direction::kRead) {
    bytes = offset < file.size() ? std::min<std::uint64_t>(bytes, file.size() - offset) : 0;
    std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(offset), bytes, data);
    return static_cast<std::int64_t>(bytes);
  }
  const std::uint64_t more = offset + bytes > file.size() ? offset + bytes - file.size() : 0;
  if (more > options_.capacity_bytes - used_bytes_) {
    return -ENOSPC;
  }
  used_bytes_ += more;
  file.resize(file.size() + more);
  std::copy_n(data, bytes, file.begin() + static_cast<std::ptrdiff_t>(offset));
  return static_cast<std::int64_t>(bytes);
}

/// Moves the bytes when the request is reaped, on the loop's thread.
class MemoryEngine final : public io::Engine {
 public:
  MemoryEngine(std::shared_ptr<MemoryDevice> device, std::uint32_t queue_depth)
      : Engine(io::EngineKind::kNull, {.kind = io::EngineKind::kNull, .queue_depth = queue_depth}),
        device_(std::move(device)) {}
  bool copies_in_user_space() const override { return true; }

 private:
  void do_submit(const Call& call) override { queue_.push_back(call); }

  std::size_t do_reap(std::span<RawCompletion> completions,
                      std::chrono::nanoseconds timeout) override {
    if (queue_.empty()) {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, timeout, [&] { return woken_; });
      woken_ = false;
      return 0;
    }
    std::size_t count = 0;
    while (count < completions.size() && !queue_.empty()) {
      const Call call = take();
      completions[count++] = {call.slot, transfer(call)};
    }
    return count;
  }

  void do_wake() override {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    wake_.notify_all();
  }

  /// Any request of the queue; the oldest may have to wait for all others.
  Call take() {
    const std::lock_guard lock(device_->mutex_);
    const bool pass_over = queue_.size() > 1 && device_->happens(device_->options_.late_share);
    const std::size_t index =
        pass_over ? 1 + device_->below(queue_.size() - 1) : device_->below(queue_.size());
    const Call call = queue_[index];
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(index));
    return call;
  }

  std::int64_t transfer(const Call& call) {
    if (call.part_count == 0) {
      return device_->transfer(
          *call.file, call.direction, call.offset, {call.data, call.size_bytes});
    }
    std::uint64_t done = 0;
    for (const io::Part& part : std::span(call.parts, call.part_count)) {
      const std::int64_t moved = device_->transfer(
          *call.file, call.direction, call.offset + done, {part.data, part.size_bytes});
      if (moved < 0) {
        return done > 0 ? static_cast<std::int64_t>(done) : moved;
      }
      done += static_cast<std::uint64_t>(moved);
      if (static_cast<std::uint64_t>(moved) < part.size_bytes) {
        break;
      }
    }
    return static_cast<std::int64_t>(done);
  }

  std::shared_ptr<MemoryDevice> device_;
  std::vector<Call> queue_;  // of the loop's thread
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
};

std::unique_ptr<io::Engine> make_memory_engine(std::shared_ptr<MemoryDevice> device,
                                               std::uint32_t queue_depth) {
  return std::make_unique<MemoryEngine>(std::move(device), queue_depth);
}

}  // namespace stepwell::test
