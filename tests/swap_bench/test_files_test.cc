#include "tools/swap_bench/test_files.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "tests/support/temporary_folder.h"
#include "tools/swap_bench/measure.h"

namespace stepwell::swap_bench {
namespace {

using testing::HasSubstr;

class TestFilesTest : public testing::Test {
 protected:
  Result<TestFiles> create(TestFilesOptions options) {
    if (options.folders.empty()) {
      options.folders = {folder_.path().string()};
    }
    return TestFiles::create(options, buffers_, progress_);
  }

  test::TemporaryFolder folder_;
  Buffers buffers_;
  Progress progress_{false};
};

TEST_F(TestFilesTest, AreFullOfBytesAndGoAway) {
  {
    Result<TestFiles> files = create({.size_bytes = kMiB + 4096});
    ASSERT_TRUE(files.ok()) << files.status().to_string();
    ASSERT_EQ(folder_.entry_count(), 1U);
    const TestFiles moved = std::move(files).value();
    std::ifstream file(moved.path(0), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    ASSERT_EQ(bytes.size(), kMiB + 4096);
    EXPECT_NE(bytes.substr(kMiB), std::string(4096, '\0')) << "the end beyond whole blocks, too";
    EXPECT_NE(bytes.substr(0, 4096), bytes.substr(4096, 4096));
  }
  EXPECT_EQ(folder_.entry_count(), 0U);
}

TEST_F(TestFilesTest, NeedRoom) {
  const Status status = create({.size_bytes = std::uint64_t{1} << 60}).status();
  EXPECT_EQ(status.code(), StatusCode::kNoSpace);
  EXPECT_THAT(status.message(), HasSubstr("are needed"));
  EXPECT_THAT(status.message(), HasSubstr("are free"));
  EXPECT_EQ(folder_.entry_count(), 0U);
}

TEST_F(TestFilesTest, NeedRoomForAllFoldersOfADisk) {
  const Result<std::uint64_t> free = io::free_bytes_at(folder_.path().string());
  ASSERT_TRUE(free.ok());
  const std::string folder = folder_.path().string();
  const Status status =
      create({.folders = {folder, folder}, .size_bytes = align_down(free.value() / 10 * 6, 4096)})
          .status();
  EXPECT_EQ(status.code(), StatusCode::kNoSpace);
  EXPECT_THAT(status.message(), HasSubstr("2 test file(s)"));
}

TEST_F(TestFilesTest, AreNotMadeInMemory) {
  if (::mount("none", folder_.path().c_str(), "tmpfs", 0, "size=8m") != 0) {
    GTEST_SKIP() << "a tmpfs cannot be mounted here (needs CAP_SYS_ADMIN)";
  }
  const Status refused = create({.size_bytes = kMiB}).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("is on tmpfs"));
  EXPECT_THAT(refused.message(), HasSubstr("--allow-memory"));
  {
    const Result<TestFiles> allowed = create({.size_bytes = kMiB, .allow_memory = true});
    EXPECT_TRUE(allowed.ok()) << allowed.status().to_string();
    EXPECT_EQ(allowed.value().access(), Access::kMemory);
  }
  ::umount(folder_.path().c_str());
}

TEST_F(TestFilesTest, AreMeasuredByEveryWorkload) {
  const Result<TestFiles> files = create(
      {.folders = {folder_.path().string(), folder_.path().string()}, .size_bytes = 2 * kMiB});
  ASSERT_TRUE(files.ok()) << files.status().to_string();
  for (const Workload workload : kWorkloads) {
    const Result<Measurement> measured =
        measure(files.value(),
                buffers_,
                workload,
                {.block_bytes = 64 * kKiB, .queue_depth = 4, .threads = 2},
                {.duration = std::chrono::milliseconds(20), .layer_bytes = 300 * kKiB});
    ASSERT_TRUE(measured.ok()) << measured.status().to_string();
    EXPECT_EQ(measured.value().read_bytes > 0, workload != Workload::kWrite);
    EXPECT_EQ(measured.value().write_bytes > 0, writes(workload)) << to_string(workload);
    EXPECT_EQ(measured.value().read_calls.latency.count > 0, workload != Workload::kWrite);
  }
}

TEST_F(TestFilesTest, ThroughThePageCacheReadOncePerDrop) {
  const Result<TestFiles> files = create({.size_bytes = kMiB, .buffered = true});
  ASSERT_TRUE(files.ok()) << files.status().to_string();
  const Setting setting{.block_bytes = 64 * kKiB, .queue_depth = 4};
  const MeasureOptions options{.duration = std::chrono::seconds(5)};
  const Result<Measurement> read =
      measure(files.value(), buffers_, Workload::kRead, setting, options);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read.value().read_bytes, kMiB) << "a second pass would come from memory";
  EXPECT_EQ(measure(files.value(), buffers_, Workload::kMixed, setting, options).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(TestFilesTest, MustHoldABlock) {
  const Result<TestFiles> files = create({.size_bytes = kMiB});
  ASSERT_TRUE(files.ok());
  const Status status =
      measure(files.value(), buffers_, Workload::kRead, {.block_bytes = 2 * kMiB}, {}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("larger --size"));
}

TEST_F(TestFilesTest, BuffersBeyondMemoryAreRefused) {
  const Status status = buffers_.get(std::uint64_t{1} << 60).status();
  EXPECT_EQ(status.code(), StatusCode::kBudgetExceeded);
  EXPECT_THAT(status.message(), HasSubstr("queue depth"));
}

}  // namespace
}  // namespace stepwell::swap_bench
