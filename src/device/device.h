// A compute device: its memory, streams of ordered work, events between them, asynchronous copies.
//
// Two implementations: the CPU device (streams are worker threads; device memory is host memory
// under a cap) keeps the same ordering rules as CUDA, so that all logic above is tested without a
// GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "stepwell/memory/pool.h"
#include "stepwell/status.h"

namespace stepwell::device {

class Stream;

/// A point in a stream's work. Thread-safe. Starts as passed; record() arms it. wait(), passed()
/// and order_after() mean the latest record before the call. It may be destroyed before it passes.
class Event {
 public:
  virtual ~Event() = default;
  /// Passed already? Never blocks.
  virtual bool passed() const = 0;
  /// Blocks the calling thread until passed.
  virtual void wait() = 0;
};

/// Ordered asynchronous work. Thread-safe; work of one stream runs in the order of the calls. Its
/// destructor first runs what is queued.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Copies `bytes` once everything before it is done. Both ranges must live and stay untouched
  /// until it has run.
  virtual void copy_async(std::byte* destination, const std::byte* source, std::uint64_t bytes) = 0;
  /// Runs `function` on a thread of the device once everything before it is done. It must not call
  /// the device.
  virtual void call_async(std::function<void()> function) = 0;
  /// `event` passes when everything before is done.
  virtual void record(Event& event) = 0;
  /// Work after this call starts only when `event` has passed. Does not block the calling thread.
  virtual void order_after(Event& event) = 0;
  /// Blocks the calling thread until everything is done.
  virtual void synchronize() = 0;
};

/// Thread-safe. Must outlive its streams and events.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  /// True when host and device memory are the same memory, so a read may land where the operator
  /// uses it.
  virtual bool unified_memory() const = 0;
  /// Memory of this device for a memory::Pool.
  virtual memory::Source& memory_source() = 0;
  virtual std::unique_ptr<Stream> create_stream() = 0;
  virtual std::unique_ptr<Event> create_event() = 0;
};

/// `unified` false makes the CPU device behave like one with memory of its own: pages are copied to
/// it (for tests).
std::unique_ptr<Device> make_cpu_device(bool unified = true);

/// kUnsupported with the reason when the build has no CUDA or the machine has no usable GPU.
Result<std::unique_ptr<Device>> make_cuda_device(int index);

/// "none found: …" or "0: NAME, 80 GiB; 1: …": what the CUDA backend sees, for reports.
std::string describe_cuda_devices();

}  // namespace stepwell::device
