#include "src/residency/step_tracker.h"

namespace stepwell::residency {

using schedule::kNever;

void StepTracker::begin(StepKind kind) {
  Lane& lane = lanes_[index(kind)];
  if (!lane.recorder.running() || kind == StepKind::kEvaluation) {
    lane.recorder.begin();
  }
}

bool StepTracker::end(StepKind kind) {
  Lane& lane = lanes_[index(kind)];
  const bool changed = lane.recorder.end();
  lane.plan_valid = lane.plan_valid && !changed;
  return changed;
}

bool StepTracker::needs_plan(StepKind kind) const {
  const Lane& lane = lanes_[index(kind)];
  return lane.recorder.recorded() != nullptr && !lane.plan_valid;
}

void StepTracker::make_plan(StepKind kind, const schedule::PlanInputs& inputs) {
  Lane& lane = lanes_[index(kind)];
  lane.plan = schedule::plan(lane.recorder.recorded()->schedule, inputs);
  lane.plan_valid = true;
}

StepTracker::Lane* StepTracker::running() {
  for (const StepKind kind : {StepKind::kEvaluation, StepKind::kTraining}) {
    if (lanes_[index(kind)].recorder.running()) {
      return &lanes_[index(kind)];
    }
  }
  return nullptr;
}

const StepTracker::Lane* StepTracker::running() const {
  return const_cast<StepTracker*>(this)->running();
}

std::span<const schedule::Action> StepTracker::on_operator(
    NameId name, std::span<const schedule::PageUse> uses) {
  Lane* lane = running();
  if (lane == nullptr) {
    return {};
  }
  const std::optional<std::uint64_t> position = lane->recorder.on_operator(name, uses);
  if (!position || !lane->plan_valid) {
    return {};
  }
  return lane->plan.actions_at(*position);
}

void StepTracker::on_operator_done() {
  if (Lane* lane = running()) {
    lane->recorder.on_operator_done();
  }
}

std::uint64_t StepTracker::distance(PageId page) const {
  const Lane* lane = running();
  if (lane == nullptr) {
    // Between steps the next training step is what comes.
    lane = lanes_.data();
  }
  const auto recorded = lane->recorder.recorded();
  return recorded ? recorded->next_use.distance(page, lane->recorder.cursor()) : kNever;
}

}  // namespace stepwell::residency
