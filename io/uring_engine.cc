#include "io/uring_engine.h"

#ifdef STEPWELL_HAVE_URING

#include <algorithm>
#include <cerrno>
#include <ctime>

#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "io/file.h"
#include "src/base/format.h"
#include "stepwell/check.h"
#include "stepwell/log.h"

namespace stepwell::io {
namespace {

/// What to do about a kernel that refuses a ring.
const char* cure_of(int os_error) {
  switch (os_error) {
    case EPERM:
      return "; allow the calls io_uring_setup, io_uring_enter and io_uring_register in the "
             "container's seccomp profile, and check 'sysctl kernel.io_uring_disabled'";
    case ENOMEM:
      return "; raise the limit of locked memory ('ulimit -l') or lower aio.queue_depth";
    case ENOSYS:
      return "; this kernel has no io_uring";
    default:
      return "";
  }
}

/// Requests are handed to the kernel in one call when the owner reaps. A wake from another thread
/// is an eventfd read that is always in the ring.
class UringEngine final : public Engine {
 public:
  explicit UringEngine(const EngineOptions& options) : Engine(options.queue_depth) {}

  Status start() {
    // One entry for every request and one for the wake-up read.
    const int failed = io_uring_queue_init(queue_depth() + 1, &ring_, 0);
    if (failed < 0) {
      const Status reason = Status::from_errno(
          -failed, concat("setting up io_uring with queue depth ", queue_depth()));
      return {reason.code(), reason.message() + cure_of(-failed), -failed};
    }
    started_ = true;
    wake_fd_ = ::eventfd(0, EFD_CLOEXEC);
    if (wake_fd_ < 0) {
      return Status::from_errno(errno, "creating an eventfd");
    }
    listen_for_wake();
    return {};
  }

  ~UringEngine() override {
    if (started_) {
      io_uring_queue_exit(&ring_);
    }
    if (wake_fd_ >= 0) {
      ::close(wake_fd_);
    }
  }

  const char* name() const override { return "io_uring"; }

 private:
  io_uring_sqe* next_entry() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) {
      submit();
      entry = io_uring_get_sqe(&ring_);
    }
    STEPWELL_CHECK(entry != nullptr, "the submission ring has an entry for every request");
    return entry;
  }

  void listen_for_wake() {
    io_uring_sqe* entry = next_entry();
    io_uring_prep_read(entry, wake_fd_, &wake_count_, sizeof wake_count_, 0);
    io_uring_sqe_set_data(entry, nullptr);
  }

  void do_submit(Op& op) override {
    io_uring_sqe* entry = next_entry();
    const std::uint64_t done = op.done_bytes;
    // The kernel takes 32-bit lengths; the rest of a longer request is a short transfer, which the
    // face continues.
    constexpr std::uint64_t kLengthMax = std::uint64_t{1} << 30;
    const auto length = static_cast<unsigned>(std::min(op.size_bytes - done, kLengthMax));
    switch (op.direction) {
      case Direction::kRead:
        io_uring_prep_read(entry, fd_of(op), op.data + done, length, op.offset + done);
        break;
      case Direction::kWrite:
        io_uring_prep_write(entry, fd_of(op), op.data + done, length, op.offset + done);
        break;
      case Direction::kFlush:
        io_uring_prep_fsync(entry, fd_of(op), IORING_FSYNC_DATASYNC);
        break;
    }
    io_uring_sqe_set_data(entry, &op);
  }

  void submit() {
    while (io_uring_sq_ready(&ring_) > 0) {
      const int result = io_uring_submit(&ring_);
      if (result < 0 && result != -EINTR && result != -EAGAIN && result != -EBUSY) {
        log(LogLevel::kError, Status::from_errno(-result, "io_uring_submit").to_string());
        return;
      }
      if (result == -EAGAIN || result == -EBUSY) {
        return;  // the kernel lacks resources until something completes; tried again at the next
                 // reap
      }
    }
  }

  std::size_t do_reap(std::span<RawCompletion> completions,
                      std::chrono::nanoseconds timeout) override {
    submit();
    if (timeout.count() > 0 && io_uring_cq_ready(&ring_) == 0) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
      __kernel_timespec limit{.tv_sec = seconds.count(), .tv_nsec = (timeout - seconds).count()};
      io_uring_cqe* unused = nullptr;
      io_uring_wait_cqe_timeout(&ring_, &unused, &limit);  // its outcome shows in the ring
    }
    std::size_t count = 0;
    io_uring_cqe* entry = nullptr;
    while (count < completions.size() && io_uring_peek_cqe(&ring_, &entry) == 0) {
      auto* op = static_cast<Op*>(io_uring_cqe_get_data(entry));
      const std::int64_t result = entry->res;
      io_uring_cqe_seen(&ring_, entry);
      if (op == nullptr) {
        listen_for_wake();
      } else if (op != internal_timeout()) {
        completions[count++] = {op, result};
      }
    }
    submit();
    return count;
  }

  /// liburing marks its own time-outs with this value on kernels without an extended wait.
  static Op* internal_timeout() { return reinterpret_cast<Op*>(LIBURING_UDATA_TIMEOUT); }

  void do_wake() override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof one);
  }

  io_uring ring_{};
  bool started_ = false;
  int wake_fd_ = -1;
  std::uint64_t wake_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_uring_engine(const EngineOptions& options) {
  auto engine = std::make_unique<UringEngine>(options);
  STEPWELL_RETURN_IF_ERROR(engine->start());
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace stepwell::io

#else

namespace stepwell::io {

Result<std::unique_ptr<Engine>> make_uring_engine(const EngineOptions&) {
  return Status(
      StatusCode::kUnsupported,
      "this build has no io_uring; install liburing (Debian: liburing-dev) and build again");
}

}  // namespace stepwell::io

#endif
