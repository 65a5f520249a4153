// One file I/O request, owned by its caller and embedded in the caller's own object (no allocation
// per request).
//
// Life: idle -> queued (handed to a Loop) -> pending (in an engine) -> completed; the callback runs
// once, on the loop's thread, after the state became completed, and may submit the same op again.
// An op must stay alive and its buffer untouched from enqueue() until its callback starts (see
// lease.h for how that is watched); destroying an op in between is a checked error.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "stepwell/status.h"

namespace stepwell::io {

class File;
class Loop;

enum class Direction : std::uint8_t { kRead, kWrite, kFlush };
const char* to_string(Direction direction);

/// What is served first: something waits for it, it will be needed soon, it is only put away.
enum class Priority : std::uint8_t { kDemand, kPrefetch, kWriteBack };
inline constexpr std::size_t kPriorityCount = 3;
const char* to_string(Priority priority);

/// One piece of memory of a merged request. Layout of struct iovec, without its header.
struct Part {
  std::byte* data = nullptr;
  std::uint64_t size_bytes = 0;
};

struct Op {
  enum class State : std::uint8_t { kIdle, kQueued, kPending, kCompleted };
  /// `status` is ok only when every byte was transferred (short transfers are continued by the
  /// engine's face).
  using Callback = void (*)(Op& op, const Status& status) noexcept;
  using Clock = std::chrono::steady_clock;

  Op() = default;
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;
  ~Op();

  // Set by the caller before submission, not changed by anybody while in flight.
  Direction direction = Direction::kRead;
  Priority priority = Priority::kDemand;
  const File* file = nullptr;
  std::uint64_t offset = 0;      // bytes from the start of the file
  std::byte* data = nullptr;     // ignored by kFlush; the buffer of a write is only read
  std::uint64_t size_bytes = 0;  // ignored by kFlush
  const Part* parts = nullptr;   // several pieces of memory in place of `data`, size_bytes together
  std::uint32_t part_count = 0;
  Callback on_complete = nullptr;
  void* context = nullptr;  // for the callback's own use

  // Owned by the loop and the engine while in flight.
  State state = State::kIdle;
  bool buffered = false;  // direct I/O was refused for this request
  bool alone = false;     // not to be merged with others (again)
  bool merged = false;    // made of several by a Scheduler
  bool waiting = false;   // in a Scheduler
  /// After completion with kTimedOut: the device still has the buffer and may yet read or write it.
  /// It must neither be used nor freed for anything else as long as the process lives.
  bool abandoned = false;
  bool overdue = false;          // past its deadline, cancellation was asked for
  std::uint32_t slot = 0;        // in the engine
  Loop* loop = nullptr;          // that it was last queued to
  std::uint32_t attempts = 0;    // calls that were interrupted
  std::uint64_t done_bytes = 0;  // transferred so far
  std::uint64_t lease = 0;       // see lease.h
  Op* next = nullptr;            // intrusive list
  Op* previous = nullptr;
  Clock::time_point queued_at{};
  Clock::time_point submitted_at{};

  bool in_flight() const { return state == State::kQueued || state == State::kPending; }
  /// "write of 65536 bytes at offset 4096 of PATH (pending, 512 bytes done)".
  std::string to_string() const;
};

/// Doubly linked list of ops through the ops themselves: no allocation, removal from the middle.
/// Not thread-safe.
class OpList {
 public:
  bool empty() const { return first_ == nullptr; }
  std::size_t size() const { return size_; }
  Op* front() const { return first_; }
  void push_back(Op& op);
  void push_front(Op& op);
  void remove(Op& op);  // must be in this list
  Op& pop_front();

 private:
  Op* first_ = nullptr;
  Op* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace stepwell::io
