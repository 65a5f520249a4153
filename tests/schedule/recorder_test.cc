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

}  // namespace
}  // namespace stepwell::schedule
