#include "tools/swap_bench/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temporary_folder.h"

namespace stepwell::swap_bench {
namespace {

using testing::HasSubstr;

class VerifyTest : public testing::Test {
 protected:
  Result<TestFiles> create(std::uint64_t size_bytes) {
    const std::string folder = folder_.path().string();
    return TestFiles::create(
        {.folders = {folder, folder}, .size_bytes = size_bytes}, buffers_, progress_);
  }

  test::TemporaryFolder folder_;
  Buffers buffers_;
  Progress progress_{false};
};

TEST_F(VerifyTest, FindsNothingOnARightDisk) {
  const Result<TestFiles> files = create(4 * kMiB);
  ASSERT_TRUE(files.ok()) << files.status().to_string();
  for (const bool direct : {true, false}) {
    const Result<VerifyResult> result = verify(
        files.value(), buffers_, {.direct = direct, .duration = std::chrono::milliseconds(100)});
    ASSERT_TRUE(result.ok()) << result.status().to_string();
    EXPECT_GT(result.value().written_bytes, 0U);
    EXPECT_GT(result.value().checked_bytes, 0U);
  }
}

TEST_F(VerifyTest, FindsAFlippedByte) {
  const Result<TestFiles> files = create(4 * kMiB);
  ASSERT_TRUE(files.ok()) << files.status().to_string();
  constexpr off_t kOffset = 12345;
  VerifyPlan plan{.seed = 5, .duration = std::chrono::milliseconds(200)};
  plan.before_last_reading = [](const io::Volume& volume) {
    const int fd = volume.file(1).buffered_fd();
    char byte = 0;
    ASSERT_EQ(::pread(fd, &byte, 1, kOffset), 1);
    byte = static_cast<char>(byte ^ 1);
    ASSERT_EQ(::pwrite(fd, &byte, 1, kOffset), 1);
  };
  const Status status = verify(files.value(), buffers_, plan).status();
  EXPECT_EQ(status.code(), StatusCode::kCorrupt) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr(files.value().path(1)));
  EXPECT_THAT(status.message(), HasSubstr("at offset 12288 "));
  EXPECT_THAT(status.message(), HasSubstr("checksum expected"));
  EXPECT_THAT(status.message(), HasSubstr("seed 5"));
}

TEST_F(VerifyTest, NeedsSomeRoom) {
  const Result<TestFiles> files = create(256 * kKiB);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(verify(files.value(), buffers_, {}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace stepwell::swap_bench
