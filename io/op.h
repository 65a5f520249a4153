// One file I/O request, owned by its caller and embedded in the caller's own object (no allocation
// per request).
//
// Life: idle -> queued (handed to a Loop) -> pending (in an engine) -> completed; the callback runs
// once, on the loop's thread, after the state became completed, and may submit the same op again.
// An op must stay alive and its buffer untouched from enqueue() until its callback starts;
// destroying an op in between is a checked error.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "stepwell/status.h"

namespace stepwell::io {

class File;

enum class Direction : std::uint8_t { kRead, kWrite, kFlush };
const char* to_string(Direction direction);

struct Op {
  enum class State : std::uint8_t { kIdle, kQueued, kPending, kCompleted };
  /// `status` is ok only when every byte was transferred (short transfers are continued by the
  /// engine's face).
  using Callback = void (*)(Op& op, const Status& status) noexcept;

  Op() = default;
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;
  ~Op();

  // Set by the caller before submission, not changed by anybody while in flight.
  Direction direction = Direction::kRead;
  File* file = nullptr;
  std::uint64_t offset = 0;      // bytes from the start of the file
  std::byte* data = nullptr;     // ignored by kFlush
  std::uint64_t size_bytes = 0;  // ignored by kFlush
  Callback on_complete = nullptr;
  void* context = nullptr;  // for the callback's own use

  // Owned by the engine while in flight.
  State state = State::kIdle;
  std::uint64_t done_bytes = 0;  // transferred so far
  std::uint32_t attempts = 0;    // calls that were interrupted
  bool buffered = false;         // direct I/O was refused for this request
  Op* next = nullptr;            // intrusive queue link
  std::chrono::steady_clock::time_point submitted_at{};

  bool in_flight() const { return state == State::kQueued || state == State::kPending; }
  /// "write of 65536 bytes at offset 4096 of PATH (pending, 512 bytes done)".
  std::string to_string() const;
};

}  // namespace stepwell::io
