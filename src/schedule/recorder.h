// Records what a step does, and finds the place of the running step in the schedule recorded
// before.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/schedule/next_use.h"
#include "src/schedule/schedule.h"

namespace stepwell::schedule {

/// Names by number: operators are named once, uses carry four bytes. Thread-compatible.
class NameTable {
 public:
  NameId id_of(const std::string& name);
  const std::string& name_of(NameId id) const { return names_[id.value]; }

 private:
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<std::string> names_;
};

/// A finished recording and its index.
struct RecordedStep {
  Schedule schedule;
  NextUseIndex next_use;
};

/// One recorder a kind of step (training, evaluation). Thread-compatible.
class Recorder {
 public:
  /// Starts a step. What was recorded since an unfinished begin() is dropped.
  void begin();
  /// Ends it. True when the schedule changed (first time, or the step was another one than before):
  /// plans made from the old one are void.
  bool end();
  bool running() const { return running_; }

  /// One operator. Returns its place in the recorded schedule when the step follows it, or follows
  /// it again after a deviation; nothing when there is no schedule or the place is not known.
  std::optional<std::uint64_t> on_operator(NameId name, std::span<const PageUse> uses);
  /// The operator that on_operator() announced last is done.
  void on_operator_done();

  /// The last whole step, or null.
  std::shared_ptr<const RecordedStep> recorded() const { return recorded_; }
  /// Position that the running step is expected to do next; 0 when unknown.
  std::uint64_t cursor() const { return cursor_; }

 private:
  bool matches(std::uint64_t position, std::span<const PageUse> uses) const;
  std::uint64_t now_ns() const;

  bool running_ = false;
  Schedule current_;
  std::shared_ptr<const RecordedStep> recorded_;
  std::uint64_t cursor_ = 0;
  std::chrono::steady_clock::time_point started_{};
};

}  // namespace stepwell::schedule
