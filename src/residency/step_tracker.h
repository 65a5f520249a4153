// Follows the running step through its recorded schedule and hands out the plan's actions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "src/schedule/planner.h"
#include "src/schedule/recorder.h"

namespace stepwell::residency {

/// Kinds of step that have a schedule of their own.
enum class StepKind : std::uint8_t { kTraining = 0, kEvaluation = 1 };

/// Thread-compatible: the page table's lock guards it.
class StepTracker {
 public:
  /// Starts or goes on with a step of `kind`. An evaluation may run inside a training step and
  /// hands back to it.
  void begin(StepKind kind);
  /// Ends a step of `kind`. True when its schedule changed, and with it what a plan is made from.
  bool end(StepKind kind);
  /// The plan for `kind` is made again at its next begin().
  void forget_plan(StepKind kind) { lanes_[index(kind)].plan_valid = false; }
  bool needs_plan(StepKind kind) const;
  void make_plan(StepKind kind, const schedule::PlanInputs& inputs);

  /// One operator of the running step; returns what to start once its pages are there.
  std::span<const schedule::Action> on_operator(NameId name,
                                                std::span<const schedule::PageUse> uses);
  void on_operator_done();

  /// Positions until `page` is used again; kNever when not known to be used.
  std::uint64_t distance(PageId page) const;
  /// The last whole step of `kind`, or null.
  std::shared_ptr<const schedule::RecordedStep> recorded(StepKind kind) const {
    return lanes_[index(kind)].recorder.recorded();
  }

 private:
  struct Lane {
    schedule::Recorder recorder;
    schedule::Plan plan;
    bool plan_valid = false;
  };
  static std::size_t index(StepKind kind) { return static_cast<std::size_t>(kind); }
  Lane* running();
  const Lane* running() const;

  std::array<Lane, 2> lanes_;
};

}  // namespace stepwell::residency
