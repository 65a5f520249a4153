// What the face of the engines makes of a device that fails, over the fault and the memory engine.
#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

#include "io/file.h"
#include "io/loop.h"
#include "tests/support/fault_engine.h"
#include "tests/support/memory_device.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::io {
namespace {

class EngineFaults : public testing::Test {
 protected:
  Status run(Loop& loop, Direction direction, std::vector<std::byte>& data) {
    Op op;
    op.direction = direction;
    op.file = &file_;
    op.data = data.data();
    op.size_bytes = data.size();
    return run_blocking(loop, op);
  }

  test::TemporaryFolder folder_;
  File file_ = File::open(folder_.file("data"), {.create = true}).value_or_throw();
  std::shared_ptr<test::FaultControl> control_ = std::make_shared<test::FaultControl>();
  std::vector<std::byte> data_ = std::vector<std::byte>(10000, std::byte{5});
};

TEST_F(EngineFaults, T10EveryErrorIsTypedNamesTheRequestAndLeavesTheEngineUsable) {
  Loop loop(test::make_fault_engine(control_));
  struct Case {
    int os_error;
    StatusCode code;
  };
  for (const Case& expected : {Case{EIO, StatusCode::kIo},
                               Case{ENOSPC, StatusCode::kNoSpace},
                               Case{EROFS, StatusCode::kReadOnly},
                               Case{EACCES, StatusCode::kPermissionDenied}}) {
    control_->fail(Direction::kWrite, expected.os_error, 1);
    const Status status = run(loop, Direction::kWrite, data_);
    EXPECT_EQ(status.code(), expected.code) << status.to_string();
    EXPECT_EQ(status.os_error(), expected.os_error);
    for (const std::string& part : {std::string("write of 10000 bytes"), file_.path()}) {
      EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
    }
    EXPECT_TRUE(run(loop, Direction::kWrite, data_).ok());
  }
}

TEST_F(EngineFaults, InterruptionsAreRetriedButNotForEver) {
  Loop loop(test::make_fault_engine(control_));
  for (const int os_error : {EINTR, EAGAIN}) {
    control_->fail(Direction::kWrite, os_error, 100);
    EXPECT_TRUE(run(loop, Direction::kWrite, data_).ok());
    control_->fail(Direction::kWrite, os_error);
    const Status status = run(loop, Direction::kWrite, data_);
    EXPECT_EQ(status.os_error(), os_error) << status.to_string();
    control_->heal();
  }
}

TEST_F(EngineFaults, T19RefusedDirectRequestGoesThroughThePageCache) {
  if (!file_.direct()) {
    GTEST_SKIP() << file_.direct_refusal();
  }
  Loop loop(test::make_fault_engine(control_));
  control_->fail(Direction::kWrite, EINVAL, 1);
  EXPECT_TRUE(run(loop, Direction::kWrite, data_).ok());
  control_->fail(Direction::kWrite, EINVAL, 2);  // refused there too: an error
  EXPECT_EQ(run(loop, Direction::kWrite, data_).os_error(), EINVAL);
}

TEST_F(EngineFaults, T10EverySeedGivesTheBytesBack) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto device = std::make_shared<test::MemoryDevice>(test::MemoryDeviceOptions{
        .seed = seed, .short_share = 0.5, .interrupted_share = 0.3, .late_share = 0.5});
    Loop loop(test::make_memory_engine(device));
    std::vector<std::byte> out(1 + seed * 97, static_cast<std::byte>(seed));
    std::vector<std::byte> in(out.size());
    ASSERT_TRUE(run(loop, Direction::kWrite, out).ok()) << "seed " << seed;
    ASSERT_TRUE(run(loop, Direction::kRead, in).ok()) << "seed " << seed;
    ASSERT_EQ(in, out) << "seed " << seed;
  }
}

TEST_F(EngineFaults, FullDeviceSaysSo) {
  const auto device =
      std::make_shared<test::MemoryDevice>(test::MemoryDeviceOptions{.capacity_bytes = 5000});
  Loop loop(test::make_memory_engine(device));
  const Status status = run(loop, Direction::kWrite, data_);
  EXPECT_EQ(status.code(), StatusCode::kNoSpace) << status.to_string();
  data_.resize(5000);
  EXPECT_TRUE(run(loop, Direction::kWrite, data_).ok());
}

}  // namespace
}  // namespace stepwell::io
