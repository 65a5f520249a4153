// What goes to the engine next. Not thread-safe: a Loop guards it.
//
// Demand goes before prefetch, prefetch before write-back; a class that waits still gets every
// sixteenth turn. Bytes in flight are bounded, and an eighth of the queue is kept for demand, so
// that something urgent never waits behind a full queue. Neighbours in the file that were queued
// one after the other go as one call.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "io/op.h"

namespace stepwell::io {

struct SchedulerOptions {
  std::uint32_t queue_depth = 32;         // of the engine
  std::uint64_t in_flight_bytes_max = 0;  // 0: no bound; a single larger request still goes
  std::uint64_t merged_bytes_max = 0;     // of one call made of several requests; 0: none is
};

/// Several requests as one. Its parts are linked in `members`.
struct MergedOp : Op {
  static constexpr std::uint32_t kPartsMax = 64;
  std::array<Part, kPartsMax> memory;
  OpList members;
};

class Scheduler {
 public:
  explicit Scheduler(const SchedulerOptions& options) : options_(options) {}

  bool empty() const { return waiting_ == 0; }
  std::size_t waiting() const { return waiting_; }
  void push(Op& op);
  /// Puts `op`, which was taken by pop() before, in front of its class.
  void push_front(Op& op);
  /// Takes a waiting op out.
  void remove(Op& op);
  /// Moves a waiting op to the end of another class.
  void change_priority(Op& op, Priority priority);
  /// The next request to start, or null when nothing waits or the bounds allow nothing now. May be
  /// a MergedOp, which `as_merged` tells.
  Op* pop();
  /// A request of pop() has ended, its bytes are free.
  void finished(const Op& op);

  /// `op` as what pop() made of several, or null.
  static MergedOp* as_merged(Op& op) { return op.merged ? static_cast<MergedOp*>(&op) : nullptr; }
  /// Gives a finished MergedOp back for another use.
  void recycle(MergedOp& op);
  std::uint64_t merged_requests() const { return merged_requests_; }

 private:
  OpList* next_class();
  Op& take_front(OpList& from);
  bool has_room(const Op& op) const;
  static bool fits_behind(const Op& first, const Op& last, const Op& next);
  Op& merge(Op& first, OpList& from);

  const SchedulerOptions options_;
  std::array<OpList, kPriorityCount> classes_;
  std::array<std::uint32_t, kPriorityCount>
      passed_over_{};  // turns that others had while it waited
  std::size_t waiting_ = 0;
  std::uint32_t in_flight_ = 0;
  std::uint64_t in_flight_bytes_ = 0;
  std::uint64_t merged_requests_ = 0;
  std::vector<std::unique_ptr<MergedOp>> spare_;
};

}  // namespace stepwell::io
