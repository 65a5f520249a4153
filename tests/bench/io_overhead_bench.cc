// Processor time that a request costs on its way through Loop and back, without a disk: the null
// engine completes everything at once.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/file.h"
#include "io/loop.h"
#include "stepwell/bytes.h"

namespace {

using stepwell::Status;
using stepwell::io::Op;

constexpr std::uint64_t kRequestBytes = 4 * stepwell::kKiB;
constexpr std::size_t kWindow = 32;
constexpr const char* kUsage =
    "bench_io_overhead: processor time of a request through the loop on the null engine\n"
    "  --seconds N  how long to measure (default 2)\n"
    "  --help       this text\n";

double process_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Keeps a window of requests in flight: each callback submits its own again.
class Window {
 public:
  Window(stepwell::io::Loop& loop, const stepwell::io::File& file)
      : loop_(loop), memory_(kWindow * kRequestBytes), ops_(kWindow) {
    for (std::size_t index = 0; index < kWindow; ++index) {
      Op& op = ops_[index];
      op.file = &file;
      // Apart from each other in the file: neighbours would become one call.
      op.offset = 2 * index * kRequestBytes;
      op.data = memory_.data() + index * kRequestBytes;
      op.size_bytes = kRequestBytes;
      op.context = this;
      op.on_complete = [](Op& done, const Status& status) noexcept {
        static_cast<Window*>(done.context)->completed(done, status);
      };
    }
  }

  /// Requests completed.
  std::uint64_t run(std::chrono::nanoseconds duration) {
    deadline_ = std::chrono::steady_clock::now() + duration;
    active_ = kWindow;
    for (Op& op : ops_) {
      loop_.enqueue(op);
    }
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return active_ == 0; });
    return requests_;
  }
  bool failed() const { return failed_; }

 private:
  /// On the loop's thread only.
  void completed(Op& op, const Status& status) {
    ++requests_;
    failed_ = failed_ || !status.ok();
    // The clock is read now and then, so that it is not what is measured.
    if (requests_ % 1024 == 0 && std::chrono::steady_clock::now() >= deadline_) {
      over_ = true;
    }
    if (!over_ && !failed_) {
      loop_.enqueue(op);
      return;
    }
    const std::lock_guard lock(mutex_);
    --active_;
    idle_.notify_one();
  }

  stepwell::io::Loop& loop_;
  std::vector<std::byte> memory_;
  std::vector<Op> ops_;
  std::chrono::steady_clock::time_point deadline_;
  bool over_ = false;
  bool failed_ = false;
  std::uint64_t requests_ = 0;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::size_t active_ = 0;  // guarded by mutex_
};

}  // namespace

int main(int argc, char** argv) {
  double seconds = 2;
  for (int index = 1; index < argc; ++index) {
    if (std::strcmp(argv[index], "--help") == 0) {
      std::fputs(kUsage, stdout);
      return 0;
    }
    char* end = nullptr;
    const bool valued = std::strcmp(argv[index], "--seconds") == 0 && index + 1 < argc;
    seconds = valued ? std::strtod(argv[++index], &end) : 0;
    if (!valued || *end != '\0' || !(seconds > 0 && seconds <= 3600)) {
      std::fputs(kUsage, stderr);
      return 2;
    }
  }
  // Requests need a file; the null engine never touches it.
  auto file = stepwell::io::File::open("/dev/null", {.writable = false, .direct = false});
  auto engine = stepwell::io::Engine::create(
      {.kind = stepwell::io::EngineKind::kNull, .queue_depth = kWindow});
  if (!file.ok() || !engine.ok()) {
    std::fprintf(stderr, "bench_io_overhead: %s\n", file.status().to_string().c_str());
    return 1;
  }
  stepwell::io::Loop loop(std::move(engine).value());
  Window window(loop, file.value());
  const double before = process_seconds();
  const std::uint64_t requests =
      window.run(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
  const double spent = process_seconds() - before;
  if (window.failed()) {
    std::fputs("bench_io_overhead: a request failed\n", stderr);
    return 1;
  }
  const double nanoseconds = spent * 1e9 / static_cast<double>(requests);
  std::printf("%llu requests of %llu bytes, %zu in flight, %.2f s of processor time\n",
              static_cast<unsigned long long>(requests),
              static_cast<unsigned long long>(kRequestBytes),
              kWindow,
              spent);
  std::printf("io-overhead %.0f\n", nanoseconds);
  return 0;
}
