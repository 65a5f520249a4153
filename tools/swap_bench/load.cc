#include "tools/swap_bench/load.h"

#include <condition_variable>
#include <mutex>
#include <vector>

#include <sys/resource.h>

#include "tools/common/signals.h"
#include "tools/swap_bench/random_bytes.h"

namespace stepwell::swap_bench {
namespace {

using Clock = std::chrono::steady_clock;

double cpu_seconds_now() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Load {
 public:
  Load(io::Volume& volume,
       Pattern& pattern,
       std::span<std::byte> memory,
       const LoadOptions& options)
      : volume_(volume),
        pattern_(pattern),
        options_(options),
        slots_(memory.size() / options.slot_bytes) {
    for (std::size_t index = 0; index < slots_.size(); ++index) {
      Slot& slot = slots_[index];
      slot.load = this;
      slot.index = index;
      slot.request.data = memory.data() + index * options.slot_bytes;
      slot.request.context = &slot;
      slot.request.on_complete = &Load::on_complete;
    }
  }

  Result<LoadResult> run() {
    const double cpu_before = cpu_seconds_now();
    const Clock::time_point start = Clock::now();
    deadline_ = start + options_.duration;
    active_ = slots_.size();
    for (Slot& slot : slots_) {
      advance(slot);
    }
    {
      std::unique_lock lock(mutex_);
      idle_.wait(lock, [&] { return active_ == 0; });
    }
    if (error_.ok() && options_.flush_at_end) {
      io::Request flush;
      flush.direction = io::Direction::kFlush;
      error_ = volume_.run_blocking(flush);
    }
    STEPWELL_RETURN_IF_ERROR(error_);
    result_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    result_.cpu_seconds = cpu_seconds_now() - cpu_before;
    result_.stopped = tools::stop_signal() != 0;
    return result_;
  }

 private:
  struct Slot {
    Load* load = nullptr;
    std::size_t index = 0;
    std::uint64_t turns = 0;
    io::Request request;
  };

  static void on_complete(io::Request& request, const Status& status) noexcept {
    Slot& slot = *static_cast<Slot*>(request.context);
    slot.load->completed(slot, status);
  }

  void completed(Slot& slot, const Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (!status.ok()) {
        error_ = error_.ok() ? status : error_;
      } else {
        (slot.request.direction == io::Direction::kRead ? result_.read_bytes
                                                        : result_.write_bytes) +=
            slot.request.size_bytes;
      }
    }
    advance(slot);
  }

  /// Starts the next request of `slot`, or lets it rest for good.
  void advance(Slot& slot) {
    std::optional<Step> step;
    {
      const std::lock_guard lock(mutex_);
      if (error_.ok() && tools::stop_signal() == 0 && Clock::now() < deadline_) {
        step = pattern_.next(slot.index);
      }
      if (!step) {
        --active_;
        idle_.notify_one();
        return;
      }
    }
    io::Request& request = slot.request;
    request.direction = step->direction;
    request.offset = step->offset;
    request.size_bytes = step->size_bytes;
    if (options_.stamp_writes && step->direction == io::Direction::kWrite) {
      stamp({request.data, request.size_bytes}, (slot.index << 40U) + ++slot.turns);
    }
    volume_.submit(request);
  }

  io::Volume& volume_;
  Pattern& pattern_;
  const LoadOptions options_;
  Clock::time_point deadline_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::size_t active_ = 0;  // guarded by mutex_
  Status error_;            // guarded by mutex_
  LoadResult result_;       // guarded by mutex_
  std::vector<Slot> slots_;
};

}  // namespace

Result<LoadResult> run_load(io::Volume& volume,
                            Pattern& pattern,
                            std::span<std::byte> memory,
                            const LoadOptions& options) {
  Load load(volume, pattern, memory, options);
  return load.run();
}

}  // namespace stepwell::swap_bench
