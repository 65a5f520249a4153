#include "src/device/cpu_device.h"

#include <cstring>
#include <utility>

#include "stepwell/check.h"

namespace stepwell::device {
namespace {

CpuEvent& as_cpu_event(Event& event) {
  auto* cpu_event = dynamic_cast<CpuEvent*>(&event);
  STEPWELL_CHECK(cpu_event != nullptr, "an event of another device was given to a CPU stream");
  return *cpu_event;
}

}  // namespace

void Mark::reach() {
  // Notifies under the lock: a waiter may drop the last reference as soon as it sees the mark.
  const std::lock_guard lock(mutex_);
  reached_ = true;
  changed_.notify_all();
}

bool Mark::reached() const {
  const std::lock_guard lock(mutex_);
  return reached_;
}

void Mark::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return reached_; });
}

bool CpuEvent::passed() const {
  const std::shared_ptr<Mark> current = mark();
  return current == nullptr || current->reached();
}

void CpuEvent::wait() {
  if (const std::shared_ptr<Mark> current = mark()) {
    current->wait();
  }
}

void CpuEvent::arm(std::shared_ptr<Mark> mark) {
  const std::lock_guard lock(mutex_);
  mark_ = std::move(mark);
}

std::shared_ptr<Mark> CpuEvent::mark() const {
  const std::lock_guard lock(mutex_);
  return mark_;
}

CpuStream::CpuStream() : thread_([this] { run(); }) {}

CpuStream::~CpuStream() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CpuStream::copy_async(std::byte* destination, const std::byte* source, std::uint64_t bytes) {
  push([destination, source, bytes] {
    if (bytes > 0) {
      std::memcpy(destination, source, bytes);
    }
  });
}

void CpuStream::call_async(std::function<void()> function) {
  push(std::move(function));
}

void CpuStream::record(Event& event) {
  auto mark = std::make_shared<Mark>();
  as_cpu_event(event).arm(mark);
  push([mark] { mark->reach(); });
}

void CpuStream::order_after(Event& event) {
  // The thread waits in its turn. That ends: the work that reaches a mark is queued before anyone
  // can be ordered after it, so streams never wait in a circle, and a closing stream still runs
  // what is queued.
  if (const std::shared_ptr<Mark> mark = as_cpu_event(event).mark()) {
    push([mark] { mark->wait(); });
  }
}

void CpuStream::synchronize() {
  auto mark = std::make_shared<Mark>();
  push([mark] { mark->reach(); });
  mark->wait();
}

void CpuStream::push(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void CpuStream::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) {
      return;
    }
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it holds is freed without the lock, as it may call this stream
    lock.lock();
  }
}

CpuDevice::CpuDevice(bool unified) : unified_(unified), source_(memory::make_host_source(false)) {}

std::unique_ptr<Stream> CpuDevice::create_stream() {
  return std::make_unique<CpuStream>();
}

std::unique_ptr<Event> CpuDevice::create_event() {
  return std::make_unique<CpuEvent>();
}

std::unique_ptr<Device> make_cpu_device(bool unified) {
  return std::make_unique<CpuDevice>(unified);
}

}  // namespace stepwell::device
