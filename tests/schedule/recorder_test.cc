#include "src/schedule/recorder.h"

#include <gtest/gtest.h>

namespace stepwell::schedule {
namespace {

std::optional<std::uint64_t> use(Recorder& recorder, std::uint32_t page) {
  const std::vector<PageUse> uses{{PageId{page}}};
  const auto position = recorder.on_operator(NameId{0}, uses);
  recorder.on_operator_done();
  return position;
}

TEST(Recorder, FollowsARepeatedStep) {
  Recorder recorder;
  recorder.begin();
  for (const std::uint32_t page : {0U, 1U, 2U, 1U}) {
    EXPECT_FALSE(use(recorder, page)) << "nothing is known in the first step";
  }
  EXPECT_TRUE(recorder.end()) << "a first schedule";
  recorder.begin();
  std::uint64_t expected = 0;
  for (const std::uint32_t page : {0U, 1U, 2U, 1U}) {
    EXPECT_EQ(use(recorder, page), expected++);
  }
  EXPECT_FALSE(recorder.end()) << "the same schedule";
}

TEST(Recorder, ResynchronisesAfterADeviationAndRecordsIt) {
  Recorder recorder;
  recorder.begin();
  for (const std::uint32_t page : {0U, 1U, 2U, 3U}) {
    use(recorder, page);
  }
  recorder.end();
  recorder.begin();
  EXPECT_EQ(use(recorder, 0), 0U);
  EXPECT_FALSE(use(recorder, 9)) << "not in the schedule";
  EXPECT_EQ(use(recorder, 3), 3U) << "taken up again";
  EXPECT_TRUE(recorder.end());
  EXPECT_EQ(recorder.recorded()->schedule.positions.size(), 3U);
}

TEST(Recorder, IgnoresOperatorsOutsideOfAStep) {
  Recorder recorder;
  EXPECT_FALSE(use(recorder, 0));
  EXPECT_FALSE(recorder.end());
  EXPECT_EQ(recorder.recorded(), nullptr);
}

TEST(Recorder, FollowsOperatorsWithoutPages) {
  Recorder recorder;
  for (int step = 0; step < 2; ++step) {
    recorder.begin();
    for (std::uint64_t position = 0; position < 6; ++position) {
      std::vector<PageUse> uses;
      if (position % 3 != 1) {
        uses.push_back({PageId{7}});
      }
      const auto found = recorder.on_operator(NameId{0}, uses);
      EXPECT_EQ(found.has_value(), step == 1) << position;
      EXPECT_EQ(found.value_or(position), position);
    }
    recorder.end();
  }
}

TEST(Recorder, AnUnfinishedStepLeavesNoTrace) {
  Recorder recorder;
  recorder.begin();
  use(recorder, 0);
  recorder.end();
  const auto before = recorder.recorded();
  recorder.begin();
  use(recorder, 5);
  recorder.begin();
  EXPECT_EQ(use(recorder, 0), 0U);
  EXPECT_FALSE(recorder.end());
  EXPECT_EQ(recorder.recorded(), before);
}

TEST(Recorder, AnotherAccessIsAnotherSchedule) {
  Recorder recorder;
  for (const Access access : {Access::kRead, Access::kWrite}) {
    recorder.begin();
    const std::vector<PageUse> uses{{PageId{1}, access}};
    EXPECT_FALSE(recorder.on_operator(NameId{0}, uses));
    EXPECT_TRUE(recorder.end());
  }
}

TEST(Recorder, AShorterStepIsAnotherSchedule) {
  Recorder recorder;
  for (const std::uint32_t length : {3U, 2U}) {
    recorder.begin();
    for (std::uint32_t page = 0; page < length; ++page) {
      use(recorder, page);
    }
    EXPECT_TRUE(recorder.end());
  }
  EXPECT_EQ(recorder.recorded()->schedule.positions.size(), 2U);
}

TEST(NameTable, GivesOneNumberAName) {
  NameTable names;
  const NameId first = names.id_of("aten::mm");
  EXPECT_EQ(names.id_of("aten::mm"), first);
  EXPECT_NE(names.id_of("aten::t"), first);
  EXPECT_EQ(names.name_of(first), "aten::mm");
}

}  // namespace
}  // namespace stepwell::schedule
