#include "io/op.h"

#include "io/file.h"
#include "src/base/format.h"
#include "stepwell/check.h"

namespace stepwell::io {

const char* to_string(Direction direction) {
  switch (direction) {
    case Direction::kRead:
      return "read";
    case Direction::kWrite:
      return "write";
    case Direction::kFlush:
      return "flush";
  }
  return "unknown";
}

const char* to_string(Priority priority) {
  switch (priority) {
    case Priority::kDemand:
      return "demand";
    case Priority::kPrefetch:
      return "prefetch";
    case Priority::kWriteBack:
      return "write-back";
  }
  return "unknown";
}

namespace {

const char* name_of(Op::State state) {
  switch (state) {
    case Op::State::kIdle:
      return "idle";
    case Op::State::kQueued:
      return "queued";
    case Op::State::kPending:
      return "pending";
    case Op::State::kCompleted:
      return "completed";
  }
  return "unknown";
}

}  // namespace

Op::~Op() {
  STEPWELL_CHECK(!in_flight(), "destroyed while in flight: " + to_string());
}

std::string Op::to_string() const {
  const std::string path = file != nullptr ? file->path() : "(no file)";
  if (direction == Direction::kFlush) {
    return concat("flush of ", path, " (", name_of(state), ")");
  }
  return concat(io::to_string(direction),
                " of ",
                size_bytes,
                " bytes at offset ",
                offset,
                " of ",
                path,
                " (",
                name_of(state),
                ", ",
                done_bytes,
                " bytes done)");
}

void OpList::push_back(Op& op) {
  op.next = nullptr;
  op.previous = last_;
  (last_ == nullptr ? first_ : last_->next) = &op;
  last_ = &op;
  ++size_;
}

void OpList::push_front(Op& op) {
  op.previous = nullptr;
  op.next = first_;
  (first_ == nullptr ? last_ : first_->previous) = &op;
  first_ = &op;
  ++size_;
}

void OpList::remove(Op& op) {
  (op.previous == nullptr ? first_ : op.previous->next) = op.next;
  (op.next == nullptr ? last_ : op.next->previous) = op.previous;
  op.next = op.previous = nullptr;
  --size_;
}

Op& OpList::pop_front() {
  Op& op = *first_;
  remove(op);
  return op;
}

}  // namespace stepwell::io
