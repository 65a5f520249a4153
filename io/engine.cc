#include "io/engine.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "io/file.h"
#include "src/base/format.h"
#include "stepwell/check.h"
#include "stepwell/log.h"

namespace stepwell::io {

Engine::Engine(EngineKind kind, const EngineOptions& options) : kind_(kind) {
  report_.requested = options.kind;
  report_.effective = kind;
  set_queue_depth(options.queue_depth);
}

void Engine::set_queue_depth(std::uint32_t queue_depth) {
  STEPWELL_CHECK(!started_ && queue_depth > 0, "the depth is set before the first request");
  report_.queue_depth = queue_depth;
  slots_.assign(queue_depth, nullptr);
  free_slots_.clear();
  for (std::uint32_t slot = queue_depth; slot > 0; --slot) {
    free_slots_.push_back(slot - 1);
  }
}

EngineReport Engine::report() const {
  const std::lock_guard lock(report_mutex_);
  return report_;
}

void Engine::add_feature(std::string feature) {
  const std::lock_guard lock(report_mutex_);
  report_.features.push_back(std::move(feature));
}

void Engine::add_refusal(std::string refusal) {
  const std::lock_guard lock(report_mutex_);
  report_.refusals.push_back(std::move(refusal));
}

Status Engine::start() {
  started_ = true;
  return do_start();
}

bool Engine::try_submit(Op& op) {
  STEPWELL_CHECK(started_, "the engine was not started");
  STEPWELL_CHECK(op.file != nullptr && op.on_complete != nullptr, "incomplete " + op.to_string());
  STEPWELL_CHECK(op.state != Op::State::kPending, "submitted twice: " + op.to_string());
  if (free_slots_.empty()) {
    return false;
  }
  op.state = Op::State::kPending;
  op.done_bytes = 0;
  op.attempts = 0;
  op.buffered = false;
  op.overdue = false;
  op.slot = free_slots_.back();
  op.submitted_at = Op::Clock::now();
  free_slots_.pop_back();
  slots_[op.slot] = &op;
  ++in_flight_;
  submit_rest(op);
  return true;
}

/// The part of `op` that is not done yet, as one call.
void Engine::submit_rest(Op& op) {
  const std::uint64_t done = op.done_bytes;
  Call call{.slot = op.slot,
            .direction = op.direction,
            .fd = op.file->buffered_fd(),
            .data = op.data + done,
            .size_bytes = op.size_bytes - done,
            .offset = op.offset + done,
            .parts = op.parts,
            .part_count = op.part_count,
            .file = op.file};
  if (op.direction == Direction::kFlush) {
    call.data = nullptr;
    call.size_bytes = call.offset = 0;
    flushes_.add();
  } else {
    (op.direction == Direction::kRead ? read_ : write_).calls.add();
    if (!op.buffered) {
      // The parts of a merged request have the same needs.
      const Part whole{call.data, call.size_bytes};
      const Part& part = op.part_count > 0 ? op.parts[0] : whole;
      call.fd = op.file->fd_for(part.data, call.offset, part.size_bytes);
      call.direct = call.fd != op.file->buffered_fd();
    }
  }
  do_submit(call);
}

std::size_t Engine::reap(std::span<Completed> completed, std::chrono::nanoseconds timeout) {
  constexpr std::size_t kBatch = 64;
  std::array<RawCompletion, kBatch> raw;
  const std::size_t wanted = std::min(completed.size(), kBatch);
  const std::size_t found = do_reap(std::span(raw).first(wanted), timeout);
  const Op::Clock::time_point now = found > 0 ? Op::Clock::now() : Op::Clock::time_point();
  std::size_t count = 0;
  for (const RawCompletion& completion : std::span(raw).first(found)) {
    Op* const op = slots_[completion.slot];
    if (op == nullptr) {
      --abandoned_now_;
      free_slots_.push_back(completion.slot);  // an abandoned call came back after all
      continue;
    }
    Status status;
    if (!finished(*op, completion.result, status)) {
      resubmitted_calls_.add();
      submit_rest(*op);
      continue;
    }
    if (op->direction != Direction::kFlush) {
      (op->direction == Direction::kRead ? read_ : write_).latency.record(now - op->submitted_at);
    }
    slots_[completion.slot] = nullptr;
    free_slots_.push_back(completion.slot);
    --in_flight_;
    op->state = Op::State::kCompleted;
    completed[count++] = {op, std::move(status)};
  }
  return count;
}

void Engine::abandon(Op& op) {
  STEPWELL_CHECK(op.state == Op::State::kPending, "abandoned while not pending: " + op.to_string());
  slots_[op.slot] = nullptr;
  --in_flight_;
  ++abandoned_now_;
  abandoned_requests_.add();
  failed_requests_.add();
  op.state = Op::State::kCompleted;
  op.abandoned = true;
}

/// Takes one kernel result in. False: the rest of the request has to be submitted again.
bool Engine::finished(Op& op, std::int64_t result, Status& status) {
  // Interrupted calls make no progress; a device that answers nothing else is broken, so their
  // number is limited.
  constexpr std::uint32_t kAttemptsMax = 1000;
  if (op.overdue && (result == -ECANCELED || result == -EINTR || result == -EAGAIN)) {
    failed_requests_.add();
    status = {StatusCode::kTimedOut, "did not complete in time: " + op.to_string()};
    return true;
  }
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
    if (result > 0 && op.part_count == 0) {
      return false;
    }
    failed_requests_.add();
    status = Status(
        op.direction == Direction::kRead ? StatusCode::kIo : StatusCode::kNoSpace,
        concat(op.to_string(),
               op.direction == Direction::kRead ? ": the file ends here, bytes missing: "
                                                : ": nothing more is accepted, bytes missing: ",
               op.size_bytes - op.done_bytes));
    return true;
  }
  (op.direction == Direction::kRead ? read_ : write_).bytes.add(op.size_bytes);
  return true;
}

Status Engine::failure(const Op& op, int os_error, const char* note) {
  failed_requests_.add();
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

EngineStats Engine::stats() const {
  const auto of = [](const DirectionCounters& counters) {
    return DirectionStats{.calls = counters.calls.value(),
                          .bytes = counters.bytes.value(),
                          .latency = counters.latency.summary()};
  };
  return {.read = of(read_),
          .write = of(write_),
          .flushes = flushes_.value(),
          .failed_requests = failed_requests_.value(),
          .resubmitted_calls = resubmitted_calls_.value(),
          .abandoned_requests = abandoned_requests_.value()};
}

}  // namespace stepwell::io
