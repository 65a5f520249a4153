#include "src/schedule/recorder.h"

#include <algorithm>

namespace stepwell::schedule {

NameId NameTable::id_of(const std::string& name) {
  const auto [entry, inserted] = ids_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (inserted) {
    names_.push_back(name);
  }
  return NameId{entry->second};
}

void Recorder::begin() {
  running_ = true;
  current_.clear();
  cursor_ = 0;
  started_ = std::chrono::steady_clock::now();
}

bool Recorder::end() {
  if (!running_) {
    return false;
  }
  running_ = false;
  cursor_ = 0;
  if (recorded_ && recorded_->schedule.same_uses(current_)) {
    return false;
  }
  NextUseIndex index(current_);
  recorded_ = std::make_shared<const RecordedStep>(RecordedStep{current_, std::move(index)});
  return true;
}

std::uint64_t Recorder::now_ns() const {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now() - started_)
                                        .count());
}

bool Recorder::matches(std::uint64_t position, std::span<const PageUse> uses) const {
  const Schedule& schedule = recorded_->schedule;
  return position < schedule.positions.size() &&
         std::ranges::equal(schedule.uses_of(position), uses);
}

std::optional<std::uint64_t> Recorder::on_operator(NameId name, std::span<const PageUse> uses) {
  if (!running_) {
    return std::nullopt;
  }
  current_.add(name, uses, now_ns());
  if (!recorded_) {
    return std::nullopt;
  }
  if (matches(cursor_, uses)) {
    return cursor_++;
  }
  if (uses.empty()) {
    return std::nullopt;
  }
  // The step left the schedule. Take it up again at the next place that uses the same pages; a step
  // that never comes back is served by faults only.
  std::uint64_t candidate = recorded_->next_use.at_or_after(uses.front().page, cursor_);
  constexpr int kCandidatesMax = 8;
  for (int tries = 0; tries < kCandidatesMax && candidate != kNever; ++tries) {
    if (matches(candidate, uses)) {
      cursor_ = candidate + 1;
      return candidate;
    }
    candidate = recorded_->next_use.at_or_after(uses.front().page, candidate + 1);
  }
  return std::nullopt;
}

void Recorder::on_operator_done() {
  if (running_ && !current_.positions.empty()) {
    Position& last = current_.positions.back();
    last.duration_ns = now_ns() - last.start_ns;
  }
}

}  // namespace stepwell::schedule
