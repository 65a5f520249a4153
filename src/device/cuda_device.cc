#include "src/device/cuda_device.h"

#include <utility>

#include "src/base/format.h"
#include "stepwell/bytes.h"
#include "stepwell/check.h"

namespace stepwell::device {
namespace {

/// The calls of streams and events cannot fail but by misuse or a broken GPU; after either, nothing
/// that was computed can be trusted.
void check_cuda(cudaError_t error, const char* operation) {
  STEPWELL_CHECK(
      error == cudaSuccess,
      concat(operation, ": ", cudaGetErrorString(error), " (CUDA error ", int{error}, ")"));
}

/// Makes a GPU the calling thread's current one, and the former one again at the end.
class CurrentDevice {
 public:
  explicit CurrentDevice(int index) {
    check_cuda(cudaGetDevice(&former_), "cudaGetDevice");
    check_cuda(cudaSetDevice(index), "cudaSetDevice");
  }
  ~CurrentDevice() { check_cuda(cudaSetDevice(former_), "cudaSetDevice"); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int former_ = 0;
};

CudaEvent& as_cuda_event(Event& event) {
  auto* cuda_event = dynamic_cast<CudaEvent*>(&event);
  STEPWELL_CHECK(cuda_event != nullptr, "an event of another device was given to a CUDA stream");
  return *cuda_event;
}

Status no_usable_gpu(const std::string& reason) {
  return Status(
      StatusCode::kUnsupported,
      concat("no usable GPU: ",
             reason,
             "; set stepwell.device.kind to \"cpu\", or see whether nvidia-smi finds the GPU"));
}

/// The number of GPUs, or why there is none.
Result<int> count_devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess) {
    return count > 0 ? Result<int>(count) : no_usable_gpu("the driver lists none");
  }
  (void)cudaGetLastError();  // it must not show up at an unrelated call later
  const std::string reason = concat(cudaGetErrorString(error), " (CUDA error ", int{error}, ")");
  // Without any driver the runtime speaks of an old one; a version of 0 tells them apart.
  int driver_version = 0;
  if (cudaDriverGetVersion(&driver_version) == cudaSuccess && driver_version == 0) {
    return no_usable_gpu(concat("no NVIDIA driver is installed; the runtime says: ", reason));
  }
  return no_usable_gpu(reason);
}

Result<cudaDeviceProp> properties_of(int index) {
  cudaDeviceProp properties{};
  const cudaError_t error = cudaGetDeviceProperties(&properties, index);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    return Status(StatusCode::kUnsupported, cudaGetErrorString(error));
  }
  return properties;
}

}  // namespace

Result<std::byte*> CudaSource::map(std::uint64_t bytes) {
  const CurrentDevice current(index_);
  void* data = nullptr;
  cudaError_t error = cudaMalloc(&data, bytes);
  const auto misaligned = [&data] {
    return !is_aligned(reinterpret_cast<std::uintptr_t>(data), memory::kBlockAlignment);
  };
  if (error == cudaSuccess && !misaligned()) {
    return static_cast<std::byte*>(data);
  }
  if (error == cudaSuccess) {
    // Rare: cudaMalloc promises 256 bytes only. Take more and move up.
    check_cuda(cudaFree(data), "cudaFree");
    error = cudaMalloc(&data, bytes + memory::kBlockAlignment);
  }
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    return out_of_memory(bytes, error);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  std::byte* const aligned =
      static_cast<std::byte*>(data) + (align_up(address, memory::kBlockAlignment) - address);
  const std::lock_guard lock(mutex_);
  moved_.emplace(aligned, data);
  return aligned;
}

Status CudaSource::out_of_memory(std::uint64_t bytes, cudaError_t error) const {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  (void)cudaMemGetInfo(&free_bytes, &total_bytes);
  return Status(StatusCode::kBudgetExceeded,
                concat("cudaMalloc of ",
                       format_bytes(bytes),
                       " on GPU ",
                       index_,
                       ": ",
                       cudaGetErrorString(error),
                       "; ",
                       format_bytes(free_bytes),
                       " of ",
                       format_bytes(total_bytes),
                       " are free; lower stepwell.device_bytes"));
}

void CudaSource::unmap(std::byte* data, std::uint64_t /*bytes*/) noexcept {
  const CurrentDevice current(index_);
  void* allocation = data;
  {
    const std::lock_guard lock(mutex_);
    if (const auto moved = moved_.extract(data); !moved.empty()) {
      allocation = moved.mapped();
    }
  }
  check_cuda(cudaFree(allocation), "cudaFree");
}

CudaEvent::CudaEvent() {
  check_cuda(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming | cudaEventBlockingSync),
             "cudaEventCreateWithFlags");
}

CudaEvent::~CudaEvent() {
  check_cuda(cudaEventDestroy(handle_), "cudaEventDestroy");
}

bool CudaEvent::passed() const {
  const cudaError_t error = cudaEventQuery(handle_);
  if (error == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  check_cuda(error, "cudaEventQuery");
  return true;
}

void CudaEvent::wait() {
  check_cuda(cudaEventSynchronize(handle_), "cudaEventSynchronize");
}

CudaStream::CudaStream() {
  // Not ordered with the default stream: every order is said by an event.
  check_cuda(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking),
             "cudaStreamCreateWithFlags");
}

CudaStream::~CudaStream() {
  synchronize();
  check_cuda(cudaStreamDestroy(handle_), "cudaStreamDestroy");
}

void CudaStream::copy_async(std::byte* destination, const std::byte* source, std::uint64_t bytes) {
  check_cuda(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, handle_),
             "cudaMemcpyAsync");
}

void CudaStream::call_async(std::function<void()> function) {
  auto owned = std::make_unique<std::function<void()>>(std::move(function));
  const auto run = [](void* argument) {
    const std::unique_ptr<std::function<void()>> work(
        static_cast<std::function<void()>*>(argument));
    (*work)();
  };
  check_cuda(cudaLaunchHostFunc(handle_, run, owned.get()), "cudaLaunchHostFunc");
  // Now the queued call owns it.
  (void)owned.release();  // NOLINT(bugprone-unused-return-value)
}

void CudaStream::record(Event& event) {
  check_cuda(cudaEventRecord(as_cuda_event(event).handle(), handle_), "cudaEventRecord");
}

void CudaStream::order_after(Event& event) {
  check_cuda(cudaStreamWaitEvent(handle_, as_cuda_event(event).handle(), 0), "cudaStreamWaitEvent");
}

void CudaStream::synchronize() {
  check_cuda(cudaStreamSynchronize(handle_), "cudaStreamSynchronize");
}

CudaDevice::CudaDevice(int index, std::string name)
    : index_(index), name_(std::move(name)), source_(index) {}

std::unique_ptr<Stream> CudaDevice::create_stream() {
  const CurrentDevice current(index_);
  return std::make_unique<CudaStream>();
}

std::unique_ptr<Event> CudaDevice::create_event() {
  const CurrentDevice current(index_);
  return std::make_unique<CudaEvent>();
}

Result<std::unique_ptr<Device>> make_cuda_device(int index) {
  const Result<int> count = count_devices();
  if (!count.ok()) {
    return count.status().with_context(concat("CUDA device ", index));
  }
  if (index < 0 || index >= count.value()) {
    return Status(StatusCode::kUnsupported,
                  concat("CUDA device ",
                         index,
                         ": the machine has ",
                         count.value(),
                         ", numbered from 0 (CUDA_VISIBLE_DEVICES may hide some)"));
  }
  const Result<cudaDeviceProp> properties = properties_of(index);
  if (!properties.ok()) {
    return properties.status().with_context(concat("CUDA device ", index));
  }
  return std::unique_ptr<Device>(std::make_unique<CudaDevice>(
      index, concat("cuda:", index, " (", properties.value().name, ")")));
}

std::string describe_cuda_devices() {
  const Result<int> count = count_devices();
  if (!count.ok()) {
    return concat("none found: ", count.status().message());
  }
  std::string text;
  for (int index = 0; index < count.value(); ++index) {
    const Result<cudaDeviceProp> properties = properties_of(index);
    text += concat(index == 0 ? "" : "; ", index, ": ");
    text +=
        properties.ok()
            ? concat(properties.value().name, ", ", format_bytes(properties.value().totalGlobalMem))
            : properties.status().message();
  }
  return text;
}

}  // namespace stepwell::device
