#include "src/residency/step_tracker.h"

#include <gtest/gtest.h>

namespace stepwell::residency {
namespace {

using schedule::Action;
using schedule::kNever;
using schedule::PageUse;

class StepTrackerTest : public testing::Test {
 protected:
  std::span<const Action> use(std::uint32_t page) {
    const PageUse use{PageId{page}};
    const auto actions = tracker_.on_operator(NameId{0}, std::span(&use, 1));
    tracker_.on_operator_done();
    return actions;
  }
  void run(StepKind kind, const std::vector<std::uint32_t>& pages) {
    tracker_.begin(kind);
    for (const std::uint32_t page : pages) {
      use(page);
    }
    tracker_.end(kind);
  }
  void make_plan(StepKind kind) {
    tracker_.make_plan(kind, {.pages = facts_, .pool_bytes = {2, 0}, .prefetch_bytes_max = 1});
  }

  StepTracker tracker_;
  std::vector<schedule::PageFacts> facts_ =
      std::vector<schedule::PageFacts>(10, {.size_bytes = 1, .movable = true});
};

TEST_F(StepTrackerTest, AStepNeedsAPlanOnceItIsRecordedAndWheneverItChanges) {
  EXPECT_FALSE(tracker_.needs_plan(StepKind::kTraining));
  run(StepKind::kTraining, {0, 1, 2});
  EXPECT_TRUE(tracker_.needs_plan(StepKind::kTraining));
  EXPECT_FALSE(tracker_.needs_plan(StepKind::kEvaluation));
  make_plan(StepKind::kTraining);
  run(StepKind::kTraining, {0, 1, 2});
  EXPECT_FALSE(tracker_.needs_plan(StepKind::kTraining));
  tracker_.forget_plan(StepKind::kTraining);
  EXPECT_TRUE(tracker_.needs_plan(StepKind::kTraining));
  make_plan(StepKind::kTraining);
  run(StepKind::kTraining, {0, 2});
  EXPECT_TRUE(tracker_.needs_plan(StepKind::kTraining));
}

TEST_F(StepTrackerTest, EvaluationInsideOfTrainingHandsBackToIt) {
  run(StepKind::kTraining, {0, 1, 2, 3});
  make_plan(StepKind::kTraining);
  tracker_.begin(StepKind::kTraining);
  EXPECT_FALSE(use(0).empty()) << "something is dropped and fetched at each place";
  run(StepKind::kEvaluation, {5, 6});
  EXPECT_EQ(tracker_.distance(PageId{1}), 0U) << "training goes on where it was";
  EXPECT_FALSE(use(1).empty());
  tracker_.begin(StepKind::kTraining);
  EXPECT_EQ(tracker_.distance(PageId{2}), 0U) << "a second begin goes on as well";
  use(2);
  use(3);
  EXPECT_FALSE(tracker_.end(StepKind::kTraining)) << "the same step";
}

TEST_F(StepTrackerTest, DistancesAreThoseOfTheRunningStep) {
  EXPECT_EQ(tracker_.distance(PageId{0}), kNever);
  run(StepKind::kTraining, {0, 1, 2, 3});
  run(StepKind::kEvaluation, {3, 5});
  EXPECT_EQ(tracker_.distance(PageId{2}), 2U) << "between steps the next training step counts";
  tracker_.begin(StepKind::kTraining);
  use(0);
  EXPECT_EQ(tracker_.distance(PageId{3}), 2U);
  EXPECT_EQ(tracker_.distance(PageId{0}), 3U) << "in the next step";
  tracker_.begin(StepKind::kEvaluation);
  EXPECT_EQ(tracker_.distance(PageId{3}), 0U);
  EXPECT_EQ(tracker_.distance(PageId{2}), kNever);
}

TEST_F(StepTrackerTest, ADeviationGetsNoActions) {
  run(StepKind::kTraining, {0, 1, 2, 3});
  make_plan(StepKind::kTraining);
  tracker_.begin(StepKind::kTraining);
  EXPECT_TRUE(use(9).empty());
  EXPECT_FALSE(use(0).empty());
}

}  // namespace
}  // namespace stepwell::residency
