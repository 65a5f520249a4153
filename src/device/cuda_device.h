// The CUDA device: the interface of device.h over the CUDA runtime, of which this pair of files is
// the only user. Private: users call make_cuda_device() of device.h.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <cuda_runtime_api.h>

#include "src/device/device.h"

namespace stepwell::device {

/// Memory of one GPU by cudaMalloc. Thread-safe.
class CudaSource final : public memory::Source {
 public:
  explicit CudaSource(int index) : index_(index) {}

  Result<std::byte*> map(std::uint64_t bytes) override;
  void unmap(std::byte* data, std::uint64_t bytes) noexcept override;

 private:
  Status out_of_memory(std::uint64_t bytes, cudaError_t error) const;

  const int index_;
  std::mutex mutex_;
  // What cudaMalloc gave for the blocks that had to be moved up to be aligned; guarded by mutex_.
  std::unordered_map<std::byte*, void*> moved_;
};

/// Thread-safe.
class CudaEvent final : public Event {
 public:
  CudaEvent();
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  bool passed() const override;
  void wait() override;
  cudaEvent_t handle() const { return handle_; }

 private:
  cudaEvent_t handle_ = nullptr;
};

/// Thread-safe. Its destructor waits for what is queued.
class CudaStream final : public Stream {
 public:
  CudaStream();
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void copy_async(std::byte* destination, const std::byte* source, std::uint64_t bytes) override;
  void call_async(std::function<void()> function) override;
  void record(Event& event) override;
  void order_after(Event& event) override;
  void synchronize() override;

 private:
  cudaStream_t handle_ = nullptr;
};

/// Thread-safe.
class CudaDevice final : public Device {
 public:
  CudaDevice(int index, std::string name);

  std::string name() const override { return name_; }
  bool unified_memory() const override { return false; }
  memory::Source& memory_source() override { return source_; }
  std::unique_ptr<Stream> create_stream() override;
  std::unique_ptr<Event> create_event() override;

 private:
  const int index_;
  const std::string name_;
  CudaSource source_;
};

}  // namespace stepwell::device
