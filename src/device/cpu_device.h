// The CPU device: each stream is a worker thread with a queue, and device memory is host memory.
// Private: users call make_cpu_device() of device.h.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "src/device/device.h"

namespace stepwell::device {

/// One recorded point of a stream's work: reached once, never reset. Thread-safe.
///
/// Note [Marks]: every record() makes a new one, shared by the event, by the work that will reach
/// it, and by all who wait for it. So recording an event again does not disturb those who wait for
/// the earlier point, and an event may be destroyed while work still refers to it, as with CUDA.
class Mark {
 public:
  void reach();
  bool reached() const;
  void wait() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool reached_ = false;  // guarded by mutex_
};

/// Thread-safe.
class CpuEvent final : public Event {
 public:
  bool passed() const override;
  void wait() override;

  /// Replaces the point this event stands for.
  void arm(std::shared_ptr<Mark> mark);
  /// The latest recorded point, or null when there is none.
  std::shared_ptr<Mark> mark() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Mark> mark_;  // guarded by mutex_
};

/// Thread-safe. Its destructor runs what is queued, then ends the thread.
class CpuStream final : public Stream {
 public:
  CpuStream();
  ~CpuStream() override;
  CpuStream(const CpuStream&) = delete;
  CpuStream& operator=(const CpuStream&) = delete;

  void copy_async(std::byte* destination, const std::byte* source, std::uint64_t bytes) override;
  void call_async(std::function<void()> function) override;
  void record(Event& event) override;
  void order_after(Event& event) override;
  void synchronize() override;

 private:
  void push(std::function<void()> work);
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;  // guarded by mutex_
  bool closing_ = false;                     // guarded by mutex_
  std::thread thread_;                       // last: it uses everything above
};

/// Thread-safe.
class CpuDevice final : public Device {
 public:
  explicit CpuDevice(bool unified);

  std::string name() const override { return "cpu"; }
  bool unified_memory() const override { return unified_; }
  memory::Source& memory_source() override { return *source_; }
  std::unique_ptr<Stream> create_stream() override;
  std::unique_ptr<Event> create_event() override;

 private:
  const bool unified_;
  const std::unique_ptr<memory::Source> source_;
};

}  // namespace stepwell::device
