#include "io/libaio_engine.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <vector>

#include <linux/aio_abi.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/vectored.h"
#include "src/base/format.h"

namespace stepwell::io {
namespace {

/// What to do about a kernel that refuses a context.
const char* cure_of(int os_error) {
  switch (os_error) {
    case EAGAIN:
      return "; raise 'sysctl fs.aio-max-nr' or lower aio.queue_depth";
    case EPERM:
      return "; allow the calls io_setup, io_submit and io_getevents in the container's seccomp "
             "profile";
    case ENOSYS:
      return "; this kernel has no asynchronous I/O";
    default:
      return "";
  }
}

/// Completions and wake-ups arrive at two eventfds, for which one poll waits.
class LibaioEngine final : public Engine {
 public:
  explicit LibaioEngine(const EngineOptions& options)
      : Engine(EngineKind::kLibaio, options), blocks_(options.queue_depth) {}

  Status set_up() {
    if (::syscall(SYS_io_setup, queue_depth(), &context_) != 0) {
      const int os_error = errno;
      context_ = 0;
      const Status reason = Status::from_errno(
          os_error, concat("setting up libaio with queue depth ", queue_depth()));
      return {reason.code(), reason.message() + cure_of(os_error), os_error};
    }
    completion_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (completion_fd_ < 0 || wake_fd_ < 0) {
      return Status::from_errno(errno, "creating an eventfd (raise 'ulimit -n')");
    }
    return {};
  }

  ~LibaioEngine() override {
    // Destroying a context waits for its calls; one that never completes is left to the kernel.
    if (context_ != 0 && abandoned() == 0) {
      ::syscall(SYS_io_destroy, context_);
    }
    for (const int fd : {completion_fd_, wake_fd_}) {
      if (fd >= 0) {
        ::close(fd);
      }
    }
  }

 private:
  void do_submit(const Call& call) override {
    iocb& block = blocks_[call.slot];
    block = {};
    block.aio_data = call.slot;
    block.aio_fildes = static_cast<std::uint32_t>(call.fd);
    block.aio_flags = IOCB_FLAG_RESFD;
    block.aio_resfd = static_cast<std::uint32_t>(completion_fd_);
    block.aio_offset = static_cast<std::int64_t>(call.offset);
    const bool read = call.direction == Direction::kRead;
    if (call.direction == Direction::kFlush) {
      block.aio_lio_opcode = IOCB_CMD_FDSYNC;
    } else if (call.part_count > 0) {
      block.aio_lio_opcode = read ? IOCB_CMD_PREADV : IOCB_CMD_PWRITEV;
      block.aio_buf = reinterpret_cast<std::uint64_t>(call.parts);
      block.aio_nbytes = call.part_count;
    } else {
      block.aio_lio_opcode = read ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE;
      block.aio_buf = reinterpret_cast<std::uint64_t>(call.data);
      block.aio_nbytes = call.size_bytes;
    }
    waiting_.push_back(&block);
  }

  void submit() {
    while (!waiting_.empty()) {
      const long taken =
          ::syscall(SYS_io_submit, context_, static_cast<long>(waiting_.size()), waiting_.data());
      if (taken > 0) {
        waiting_.erase(waiting_.begin(), waiting_.begin() + taken);
        in_kernel_ += taken;
      } else if (taken < 0 && errno != EINTR) {
        if (errno == EAGAIN && in_kernel_ > 0) {
          return;  // the kernel lacks resources until something completes
        }
        // The first one is what the kernel did not like.
        refused_.push_back({static_cast<std::uint32_t>(waiting_.front()->aio_data), -errno});
        waiting_.erase(waiting_.begin());
      }
    }
  }

  std::size_t do_reap(std::span<RawCompletion> completions,
                      std::chrono::nanoseconds timeout) override {
    submit();
    std::size_t count = std::min(completions.size(), refused_.size());
    std::copy_n(refused_.begin(), count, completions.begin());
    refused_.erase(refused_.begin(), refused_.begin() + static_cast<std::ptrdiff_t>(count));
    if (count == 0 && timeout.count() > 0) {
      wait(timeout);
    }
    std::array<io_event, 64> events;
    const auto room = static_cast<long>(std::min(events.size(), completions.size() - count));
    timespec none{};
    const long found =
        room == 0 ? 0 : ::syscall(SYS_io_getevents, context_, 0L, room, events.data(), &none);
    for (long index = 0; index < found; ++index) {
      const io_event& event = events[static_cast<std::size_t>(index)];
      completions[count++] = {static_cast<std::uint32_t>(event.data), event.res};
    }
    in_kernel_ -= std::max(found, 0L);
    // The eventfd was emptied by wait(); what did not fit in now would not wake the next one.
    more_ = found == room && room > 0;
    return count;
  }

  void wait(std::chrono::nanoseconds timeout) {
    std::array<pollfd, 2> polled = {{{.fd = completion_fd_, .events = POLLIN, .revents = 0},
                                     {.fd = wake_fd_, .events = POLLIN, .revents = 0}}};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
    const timespec limit = {.tv_sec = seconds.count(), .tv_nsec = (timeout - seconds).count()};
    const timespec none{};
    ::ppoll(polled.data(), polled.size(), more_ ? &none : &limit, nullptr);
    std::uint64_t unused = 0;
    for (const pollfd& one : polled) {
      if ((one.revents & POLLIN) != 0) {
        [[maybe_unused]] const ssize_t got = ::read(one.fd, &unused, sizeof unused);
      }
    }
  }

  /// File systems seldom support it; where one does, the completion arrives as any other.
  void do_cancel(std::uint32_t slot) override {
    io_event unused{};
    ::syscall(SYS_io_cancel, context_, &blocks_[slot], &unused);
  }

  void do_wake() override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof one);
  }

  aio_context_t context_ = 0;
  int completion_fd_ = -1;
  int wake_fd_ = -1;
  std::vector<iocb> blocks_;    // by slot
  std::vector<iocb*> waiting_;  // not yet taken by the kernel
  std::vector<RawCompletion> refused_;
  long in_kernel_ = 0;
  bool more_ = false;  // completions may be left that no eventfd tells of
};

}  // namespace

Result<std::unique_ptr<Engine>> make_libaio_engine(const EngineOptions& options) {
  auto engine = std::make_unique<LibaioEngine>(options);
  STEPWELL_RETURN_IF_ERROR(engine->set_up());
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace stepwell::io
