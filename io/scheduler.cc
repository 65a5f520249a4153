#include "io/scheduler.h"

#include <algorithm>

#include "io/file.h"

namespace stepwell::io {

void Scheduler::push(Op& op) {
  classes_[static_cast<std::size_t>(op.priority)].push_back(op);
  op.waiting = true;
  ++waiting_;
}

void Scheduler::push_front(Op& op) {
  classes_[static_cast<std::size_t>(op.priority)].push_front(op);
  op.waiting = true;
  ++waiting_;
}

void Scheduler::remove(Op& op) {
  classes_[static_cast<std::size_t>(op.priority)].remove(op);
  op.waiting = false;
  --waiting_;
}

void Scheduler::change_priority(Op& op, Priority priority) {
  remove(op);
  op.priority = priority;
  push(op);
}

/// The class whose turn it is.
OpList* Scheduler::next_class() {
  constexpr std::uint32_t kTurnsMax = 16;
  std::size_t chosen = kPriorityCount;
  for (std::size_t index = 0; index < kPriorityCount; ++index) {
    if (classes_[index].empty()) {
      passed_over_[index] = 0;
    } else if (chosen == kPriorityCount || passed_over_[index] >= kTurnsMax) {
      chosen = index;
    }
  }
  return chosen == kPriorityCount ? nullptr : &classes_[chosen];
}

bool Scheduler::has_room(const Op& op) const {
  const std::uint32_t kept = options_.queue_depth >= 8 ? options_.queue_depth / 8 : 0;
  const std::uint32_t slots =
      op.priority == Priority::kDemand ? options_.queue_depth : options_.queue_depth - kept;
  return in_flight_ < slots && (options_.in_flight_bytes_max == 0 || in_flight_ == 0 ||
                                in_flight_bytes_ + op.size_bytes <= options_.in_flight_bytes_max);
}

Op& Scheduler::take_front(OpList& from) {
  --waiting_;
  from.front()->waiting = false;
  return from.pop_front();
}

Op* Scheduler::pop() {
  OpList* const from = next_class();
  if (from == nullptr || !has_room(*from->front())) {
    return nullptr;
  }
  for (std::size_t index = 0; index < kPriorityCount; ++index) {
    passed_over_[index] = &classes_[index] == from ? 0 : passed_over_[index] + 1;
  }
  Op& op = merge(take_front(*from), *from);
  ++in_flight_;
  in_flight_bytes_ += op.size_bytes;
  return &op;
}

void Scheduler::finished(const Op& op) {
  --in_flight_;
  in_flight_bytes_ -= op.size_bytes;
}

/// Whether `next` continues what `first` to `last` are in the file, by the same kind of call.
bool Scheduler::fits_behind(const Op& first, const Op& last, const Op& next) {
  return next.direction == first.direction && next.file == first.file && !next.alone &&
         next.offset == last.offset + last.size_bytes &&
         next.file->fd_for(next.data, next.offset, next.size_bytes) ==
             first.file->fd_for(first.data, first.offset, first.size_bytes);
}

/// `first`, or it and those behind it in `from` as one.
Op& Scheduler::merge(Op& first, OpList& from) {
  if (first.alone || first.direction == Direction::kFlush || from.empty()) {
    return first;
  }
  MergedOp* merged = nullptr;
  const Op* last = &first;
  std::uint64_t bytes = first.size_bytes;
  while (!from.empty() && bytes + from.front()->size_bytes <= options_.merged_bytes_max &&
         fits_behind(first, *last, *from.front())) {
    if (merged == nullptr) {
      if (spare_.empty()) {
        spare_.push_back(std::make_unique<MergedOp>());
      }
      merged = spare_.back().release();
      spare_.pop_back();
      merged->members.push_back(first);
    }
    if (merged->members.size() == MergedOp::kPartsMax) {
      break;
    }
    Op& next = take_front(from);
    bytes += next.size_bytes;
    merged->members.push_back(next);
    last = &next;
  }
  if (merged == nullptr) {
    return first;
  }
  merged->direction = first.direction;
  merged->priority = first.priority;
  merged->file = first.file;
  merged->offset = first.offset;
  merged->size_bytes = bytes;
  merged->data = first.data;
  merged->on_complete = first.on_complete;  // never called: the members' are
  merged->merged = true;
  merged->part_count = 0;
  for (const Op* op = merged->members.front(); op != nullptr; op = op->next) {
    Part* const before = merged->part_count > 0 ? &merged->memory[merged->part_count - 1] : nullptr;
    if (before != nullptr && before->data + before->size_bytes == op->data) {
      before->size_bytes += op->size_bytes;
    } else {
      merged->memory[merged->part_count++] = {op->data, op->size_bytes};
    }
  }
  if (merged->part_count == 1) {
    merged->part_count = 0;  // one piece of memory: an ordinary call
  }
  merged->parts = merged->memory.data();
  merged_requests_ += merged->members.size();
  return *merged;
}

void Scheduler::recycle(MergedOp& op) {
  op.state = Op::State::kIdle;
  spare_.emplace_back(&op);
}

}  // namespace stepwell::io
