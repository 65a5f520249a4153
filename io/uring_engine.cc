#include "io/uring_engine.h"

#ifdef STEPWELL_HAVE_URING

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include <liburing.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/file.h"
#include "io/vectored.h"
#include "src/base/format.h"
#include "stepwell/bytes.h"
#include "stepwell/check.h"
#include "stepwell/log.h"

namespace stepwell::io {
namespace {

/// What to do about a kernel that refuses a ring.
const char* cure_of(int os_error) {
  switch (os_error) {
    case EPERM:
    case EACCES:
      return "; allow the calls io_uring_setup, io_uring_enter and io_uring_register in the "
             "container's seccomp profile (docker run --security-opt seccomp=PROFILE), and check "
             "'sysctl kernel.io_uring_disabled'";
    case ENOMEM:
      return "; raise the limit of locked memory ('ulimit -l', docker run --ulimit memlock=-1) or "
             "lower aio.queue_depth";
    case EMFILE:
      return "; raise the limit of open files ('ulimit -n')";
    case ENOSYS:
      return "; this kernel has no io_uring";
    default:
      return "";
  }
}

/// Completions that are not those of a call.
constexpr std::uint64_t kWakeMark = UINT64_MAX - 1;
constexpr std::uint64_t kCancelMark = UINT64_MAX - 2;

constexpr unsigned kFileSlots = 64;
constexpr unsigned kBufferSlots = 1024;
/// The kernel takes 32-bit lengths; the rest of a longer call is a short transfer, which the face
/// continues. Registered pieces of memory have the same limit.
constexpr std::uint64_t kLengthMax = kGiB;

std::string memlock_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : format_bytes(limit.rlim_cur);
}

/// One ring with what is registered at it.
class Ring {
 public:
  ~Ring() {
    if (made_) {
      io_uring_queue_exit(&ring_);
    }
  }

  /// 0 or an errno value.
  int make(unsigned entries, unsigned flags) {
    io_uring_params parameters{};
    parameters.flags = flags;
    parameters.sq_thread_idle = 50;  // milliseconds until the kernel's polling thread sleeps
    const int failed = io_uring_queue_init_params(entries, &ring_, &parameters);
    made_ = failed == 0;
    flags_ = flags;
    return -failed;
  }
  bool made() const { return made_; }
  io_uring& raw() { return ring_; }

  /// 0 or an errno value.
  int enable() {
    if ((flags_ & IORING_SETUP_R_DISABLED) == 0) {
      return 0;
    }
    // liburing 2.3 declares io_uring_enable_rings() and does not export it.
    const long failed =
        ::syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
    return failed == 0 ? 0 : errno;
  }

  /// 0 or an errno value.
  int register_file(int fd) {
    if (files_.empty()) {
      if (const int failed = io_uring_register_files_sparse(&ring_, kFileSlots); failed != 0) {
        return -failed;
      }
    }
    if (files_.size() >= kFileSlots) {
      return ENFILE;
    }
    const int updated =
        io_uring_register_files_update(&ring_, static_cast<unsigned>(files_.size()), &fd, 1);
    if (updated < 0) {
      return -updated;
    }
    files_.push_back(fd);
    return 0;
  }

  /// 0 or an errno value.
  int register_memory(std::span<std::byte> memory) {
    if (!buffer_table_) {
      if (const int failed = io_uring_register_buffers_sparse(&ring_, kBufferSlots); failed != 0) {
        return -failed;
      }
      buffer_table_ = true;
    }
    if (buffers_.size() >= kBufferSlots) {
      return ENOBUFS;
    }
    const iovec piece{.iov_base = memory.data(), .iov_len = memory.size()};
    const __u64 tag = 0;
    const auto index = static_cast<unsigned>(buffers_.size());
    const int updated = io_uring_register_buffers_update_tag(&ring_, index, &piece, &tag, 1);
    if (updated < 0) {
      return -updated;
    }
    buffers_.push_back(memory);
    return 0;
  }

  io_uring_sqe* next_entry() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) {
      io_uring_submit(&ring_);
      entry = io_uring_get_sqe(&ring_);
    }
    STEPWELL_CHECK(entry != nullptr, "the submission ring has an entry for every request");
    return entry;
  }

  /// Index of a registered file, or -1.
  int file_index(int fd) const {
    const auto found = std::find(files_.begin(), files_.end(), fd);
    return found == files_.end() ? -1 : static_cast<int>(found - files_.begin());
  }
  /// Index of the registered memory that holds the range, or -1.
  int buffer_index(const std::byte* data, std::uint64_t size_bytes) const {
    for (std::size_t index = 0; index < buffers_.size(); ++index) {
      const std::span<std::byte> memory = buffers_[index];
      if (data >= memory.data() && data + size_bytes <= memory.data() + memory.size()) {
        return static_cast<int>(index);
      }
    }
    return -1;
  }

 private:
  io_uring ring_{};
  bool made_ = false;
  unsigned flags_ = 0;
  std::vector<int> files_;
  bool buffer_table_ = false;
  std::vector<std::span<std::byte>> buffers_;
};

/// Calls are handed to the kernel in one system call when the owner reaps, which also waits. A wake
/// from another thread is an eventfd read that is always in the ring.
class UringEngine final : public Engine {
 public:
  explicit UringEngine(const EngineOptions& options)
      : Engine(EngineKind::kUring, options), options_(options), calls_(options.queue_depth) {}

  Status set_up() {
    int failed = probe();
    failed = failed == 0 ? make_ring() : failed;
    if (failed != 0) {
      const Status reason = Status::from_errno(
          failed, concat("setting up io_uring with queue depth ", options_.queue_depth));
      return {reason.code(), reason.message() + cure_of(failed), failed};
    }
    if (options_.completion_polling) {
      failed = polled_.make(queue_depth(), IORING_SETUP_IOPOLL);
      failed == 0 ? add_feature("completion polling")
                  : add_refusal(Status::from_errno(failed, "completion polling").message());
    }
    wake_fd_ = ::eventfd(0, EFD_CLOEXEC);
    if (wake_fd_ < 0) {
      return Status::from_errno(errno, "creating an eventfd (raise 'ulimit -n')");
    }
    return {};
  }

  ~UringEngine() override {
    if (wake_fd_ >= 0) {
      ::close(wake_fd_);
    }
  }

 private:
  /// Filters of system calls may allow the set-up and refuse the calls that do the work.
  static int probe() {
    Ring small;
    if (const int failed = small.make(1, 0); failed != 0) {
      return failed;
    }
    io_uring_prep_nop(small.next_entry());
    int result = 0;
    do {
      result = io_uring_submit_and_wait(&small.raw(), 1);
    } while (result == -EINTR);
    return result < 0 ? -result : 0;
  }

  /// Tries what this kernel may have, best first, and shrinks the ring before it gives up.
  int make_ring() {
    struct Choice {
      unsigned flags;
      const char* feature;
    };
    constexpr unsigned kOneThread = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_R_DISABLED;
    std::vector<Choice> choices;
    if (options_.submission_polling) {
      choices.push_back({IORING_SETUP_SQPOLL | kOneThread, "submission polling, single issuer"});
      choices.push_back({IORING_SETUP_SQPOLL, "submission polling"});
    }
    choices.push_back({kOneThread | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
                       "single issuer, deferred task-run"});
    choices.push_back({IORING_SETUP_COOP_TASKRUN, "cooperative task-run"});
    choices.push_back({0, ""});
    int failed = 0;
    for (std::uint32_t depth = queue_depth(); depth > 0; depth /= 2) {
      for (const Choice& choice : choices) {
        // One entry for every call, one for the wake-up read, one for a cancellation.
        failed = ring_.make(depth + 2, choice.flags);
        if (failed == 0) {
          describe(depth, choice.flags, choice.feature);
          return 0;
        }
      }
      if (failed != ENOMEM) {
        break;
      }
    }
    return failed;
  }

  void describe(std::uint32_t depth, unsigned flags, const char* feature) {
    if (feature[0] != '\0') {
      add_feature(feature);
    }
    if (depth < queue_depth()) {
      add_refusal(concat("queue depth ", queue_depth(), ": not enough memory", cure_of(ENOMEM)));
      set_queue_depth(depth);
    }
    if (options_.submission_polling && (flags & IORING_SETUP_SQPOLL) == 0) {
      add_refusal("submission polling: the kernel refuses it (before Linux 5.11 it needs root)");
    }
  }

  Status do_start() override {
    if (const int failed = ring_.enable(); failed != 0) {
      return Status::from_errno(failed, "enabling io_uring");
    }
    listen_for_wake();
    return {};
  }

  void do_register_file(const File& file) override {
    for (const int fd : {file.direct_fd(), file.buffered_fd()}) {
      for (Ring* ring : {&ring_, &polled_}) {
        if (fd >= 0 && ring->made()) {
          const int failed = ring->register_file(fd);
          if (failed != 0) {
            refuse("registered files", failed, "");
            return;
          }
        }
      }
    }
    feature_once(files_said_, "registered files");
  }

  void do_register_memory(std::span<std::byte> memory) override {
    for (std::size_t at = 0; at < memory.size(); at += kLengthMax) {
      const auto piece = memory.subspan(at, std::min(kLengthMax, memory.size() - at));
      for (Ring* ring : {&ring_, &polled_}) {
        const int failed = ring->made() ? ring->register_memory(piece) : 0;
        if (failed != 0) {
          refuse("registered buffers",
                 failed,
                 concat(" for ",
                        format_bytes(memory.size()),
                        "; the limit of locked memory is ",
                        memlock_limit(),
                        ", raise it ('ulimit -l', docker run --ulimit memlock=-1)"));
          return;
        }
      }
    }
    feature_once(buffers_said_, "registered buffers");
  }

  void feature_once(bool& said, const char* feature) {
    if (!said) {
      said = true;
      add_feature(feature);
    }
  }
  void refuse(const char* what, int os_error, const std::string& more) {
    add_refusal(Status::from_errno(os_error, what).message() + more);
  }

  void listen_for_wake() {
    io_uring_sqe* entry = ring_.next_entry();
    io_uring_prep_read(entry, wake_fd_, &wake_count_, sizeof wake_count_, 0);
    io_uring_sqe_set_data64(entry, kWakeMark);
  }

  void do_submit(const Call& call) override {
    const bool polled =
        polled_.made() && !polling_refused_ && call.direct && call.direction != Direction::kFlush;
    calls_[call.slot] = call;
    prepare(polled ? polled_ : ring_, call);
    polled_in_flight_ += polled ? 1U : 0U;
  }

  static void prepare(Ring& ring, const Call& call) {
    io_uring_sqe* entry = ring.next_entry();
    const bool read = call.direction == Direction::kRead;
    const auto length = static_cast<unsigned>(std::min(call.size_bytes, kLengthMax));
    if (call.direction == Direction::kFlush) {
      io_uring_prep_fsync(entry, call.fd, IORING_FSYNC_DATASYNC);
    } else if (call.part_count > 0) {
      (read ? io_uring_prep_readv : io_uring_prep_writev)(
          entry, call.fd, as_iovec(call.parts), call.part_count, call.offset);
    } else if (const int buffer = ring.buffer_index(call.data, length); buffer >= 0) {
      read ? io_uring_prep_read_fixed(entry, call.fd, call.data, length, call.offset, buffer)
           : io_uring_prep_write_fixed(entry, call.fd, call.data, length, call.offset, buffer);
    } else {
      read ? io_uring_prep_read(entry, call.fd, call.data, length, call.offset)
           : io_uring_prep_write(entry, call.fd, call.data, length, call.offset);
    }
    if (const int file = ring.file_index(call.fd); file >= 0) {
      entry->fd = file;
      entry->flags |= IOSQE_FIXED_FILE;
    }
    io_uring_sqe_set_data64(entry, call.slot);
  }

  std::size_t do_reap(std::span<RawCompletion> completions,
                      std::chrono::nanoseconds timeout) override {
    if (polled_in_flight_ > 0) {
      return reap_polling(completions, timeout);
    }
    io_uring_cqe* unused = nullptr;
    if (timeout.count() > 0 && io_uring_cq_ready(&ring_.raw()) == 0) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
      __kernel_timespec limit{.tv_sec = seconds.count(), .tv_nsec = (timeout - seconds).count()};
      // Its outcome shows in the ring. Where the kernel lacks resources (EAGAIN, EBUSY) the next
      // call tries again.
      io_uring_submit_and_wait_timeout(&ring_.raw(), &unused, 1, &limit, nullptr);
    } else {
      io_uring_submit(&ring_.raw());
      io_uring_peek_cqe(&ring_.raw(), &unused);  // runs what the kernel deferred
    }
    return collect(ring_, completions);
  }

  /// Looks at both rings until there is something.
  std::size_t reap_polling(std::span<RawCompletion> completions, std::chrono::nanoseconds timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    std::size_t count = 0;
    do {
      io_uring_cqe* unused = nullptr;
      for (Ring* ring : {&polled_, &ring_}) {
        io_uring_submit(&ring->raw());
        io_uring_peek_cqe(&ring->raw(), &unused);
        count += collect(*ring, completions.subspan(count));
      }
    } while (count == 0 && !woken_ && polled_in_flight_ > 0 &&
             std::chrono::steady_clock::now() < end);
    woken_ = false;
    return count;
  }

  std::size_t collect(Ring& ring, std::span<RawCompletion> completions) {
    std::size_t count = 0;
    std::array<io_uring_cqe*, 64> entries;
    while (count < completions.size()) {
      const auto room = static_cast<unsigned>(std::min(entries.size(), completions.size() - count));
      const unsigned found = io_uring_peek_batch_cqe(&ring.raw(), entries.data(), room);
      for (unsigned index = 0; index < found; ++index) {
        const io_uring_cqe& entry = *entries[index];
        if (entry.user_data == kWakeMark) {
          woken_ = true;
          listen_for_wake();
        } else if (entry.user_data != kCancelMark && entry.user_data != LIBURING_UDATA_TIMEOUT &&
                   !polling_refused(ring, entry)) {
          completions[count++] = {static_cast<std::uint32_t>(entry.user_data), entry.res};
        }
      }
      io_uring_cq_advance(&ring.raw(), found);
      if (found < room) {
        break;
      }
    }
    return count;
  }

  /// A device without polling queues answers EOPNOTSUPP: the call is made again by interrupt.
  bool polling_refused(Ring& ring, const io_uring_cqe& entry) {
    if (&ring != &polled_) {
      return false;
    }
    --polled_in_flight_;
    if (entry.res != -EOPNOTSUPP) {
      return false;
    }
    if (!polling_refused_) {
      polling_refused_ = true;
      add_refusal(
          "completion polling: the device or file system has no polling queues (for NVMe: "
          "module parameter nvme.poll_queues)");
    }
    prepare(ring_, calls_[entry.user_data]);
    return true;
  }

  void do_cancel(std::uint32_t slot) override {
    io_uring_sqe* entry = ring_.next_entry();
    io_uring_prep_cancel64(entry, slot, 0);
    io_uring_sqe_set_data64(entry, kCancelMark);
  }

  void do_wake() override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof one);
  }

  const EngineOptions options_;
  std::vector<Call> calls_;  // by slot, as long as in flight
  Ring ring_;
  Ring polled_;  // made only for completion polling
  std::uint32_t polled_in_flight_ = 0;
  bool polling_refused_ = false;
  bool files_said_ = false;
  bool buffers_said_ = false;
  bool woken_ = false;
  int wake_fd_ = -1;
  std::uint64_t wake_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_uring_engine(const EngineOptions& options) {
  auto engine = std::make_unique<UringEngine>(options);
  STEPWELL_RETURN_IF_ERROR(engine->set_up());
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
