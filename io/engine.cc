#include "io/engine.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "io/file.h"
#include "io/null_engine.h"
#include "io/thread_engine.h"
#include "io/uring_engine.h"
#include "src/base/format.h"
#include "stepwell/check.h"
#include "stepwell/log.h"

namespace stepwell::io {

const char* to_string(EngineKind kind) {
  switch (kind) {
    case EngineKind::kAuto:
      return "auto";
    case EngineKind::kUring:
      return "io_uring";
    case EngineKind::kThreads:
      return "threads";
    case EngineKind::kNull:
      return "null";
  }
  return "unknown";
}

Result<EngineKind> parse_engine_kind(std::string_view name) {
  for (const EngineKind kind : {EngineKind::kAuto, EngineKind::kUring, EngineKind::kThreads}) {
    if (name == to_string(kind)) {
      return kind;
    }
  }
  return Status(StatusCode::kInvalidArgument,
                concat("I/O engine '", name, "' is none of auto, io_uring, threads"));
}

Result<std::unique_ptr<Engine>> Engine::create(const EngineOptions& options) {
  if (options.queue_depth == 0) {
    return Status(StatusCode::kInvalidArgument,
                  "queue depth 0: at least one request must be in flight");
  }
  switch (options.kind) {
    case EngineKind::kThreads:
      return make_thread_engine(options);
    case EngineKind::kNull:
      return make_null_engine(options);
    case EngineKind::kUring:
      return make_uring_engine(options);
    case EngineKind::kAuto:
      break;
  }
  Result<std::unique_ptr<Engine>> uring = make_uring_engine(options);
  if (uring.ok()) {
    return uring;
  }
  log_warning(concat("io_uring is not used, a pool of ",
                     options.thread_count,
                     " threads is: ",
                     uring.status().to_string()));
  return make_thread_engine(options);
}

bool Engine::try_submit(Op& op) {
  STEPWELL_CHECK(op.file != nullptr && op.on_complete != nullptr, "incomplete " + op.to_string());
  STEPWELL_CHECK(op.state != Op::State::kPending, "submitted twice: " + op.to_string());
  if (in_flight_ >= queue_depth_) {
    return false;
  }
  op.state = Op::State::kPending;
  op.done_bytes = 0;
  op.attempts = 0;
  op.buffered = false;
  op.next = nullptr;
  op.submitted_at = std::chrono::steady_clock::now();
  ++in_flight_;
  do_submit(op);
  return true;
}

std::size_t Engine::reap(std::span<Completed> completed, std::chrono::nanoseconds timeout) {
  constexpr std::size_t kBatch = 64;
  std::array<RawCompletion, kBatch> raw;
  const std::size_t wanted = std::min(completed.size(), kBatch);
  const std::size_t found = do_reap(std::span(raw).first(wanted), timeout);
  std::size_t count = 0;
  for (const RawCompletion& completion : std::span(raw).first(found)) {
    Op& op = *completion.op;
    Status status;
    if (!finished(op, completion.result, status)) {
      ++stats_.resubmitted_requests;
      do_submit(op);
      continue;
    }
    --in_flight_;
    op.state = Op::State::kCompleted;
    completed[count++] = {&op, std::move(status)};
  }
  return count;
}

/// Takes one kernel result in. False: the rest of the request has to be submitted again.
bool Engine::finished(Op& op, std::int64_t result, Status& status) {
  // Interrupted calls make no progress; a device that answers nothing else is broken, so their
  // number is limited.
  constexpr std::uint32_t kAttemptsMax = 1000;
  if (result == -EINTR || result == -EAGAIN) {
    if (++op.attempts < kAttemptsMax) {
      return false;
    }
    status = failure(op, static_cast<int>(-result), "the kernel answered nothing else, tries");
    return true;
  }
  if (result == -EINVAL && op.direction != Direction::kFlush && op.file->direct() && !op.buffered) {
    // A file system that takes O_DIRECT at open but refuses the request: through the page cache
    // then, and it is said.
    op.buffered = true;
    if (!warned_buffered_) {
      warned_buffered_ = true;
      log_warning(concat("direct I/O was refused for a ",
                         op.to_string(),
                         "; such requests go through the page cache"));
    }
    return false;
  }
  if (result < 0) {
    status = failure(op, static_cast<int>(-result), "");
    return true;
  }
  if (op.direction == Direction::kFlush) {
    return true;
  }
  op.done_bytes += static_cast<std::uint64_t>(result);
  if (op.done_bytes < op.size_bytes) {
    if (result > 0) {
      return false;
    }
    ++stats_.failed_requests;
    status = Status(
        op.direction == Direction::kRead ? StatusCode::kIo : StatusCode::kNoSpace,
        concat(op.to_string(),
               op.direction == Direction::kRead ? ": the file ends here, bytes missing: "
                                                : ": nothing more is accepted, bytes missing: ",
               op.size_bytes - op.done_bytes));
    return true;
  }
  const bool read = op.direction == Direction::kRead;
  (read ? stats_.read_requests : stats_.write_requests) += 1;
  (read ? stats_.read_bytes : stats_.write_bytes) += op.size_bytes;
  return true;
}

Status Engine::failure(const Op& op, int os_error, const char* note) {
  ++stats_.failed_requests;
  std::string what = op.to_string();
  if (note[0] != '\0') {
    what += concat(": ", note, " ", op.attempts);
  }
  if (os_error == ENOSPC) {
    const Result<std::uint64_t> free = free_bytes_at(op.file->path());
    what += free.ok() ? concat(" (", format_bytes(free.value()), " free)") : "";
  }
  return Status::from_errno(os_error, what);
}

int Engine::fd_of(const Op& op) {
  const std::uint64_t done = op.done_bytes;
  return op.buffered || op.direction == Direction::kFlush
             ? op.file->buffered_fd()
             : op.file->fd_for(op.data + done, op.offset + done, op.size_bytes - done);
}

}  // namespace stepwell::io
