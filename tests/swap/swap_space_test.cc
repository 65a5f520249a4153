#include "swap/swap_space.h"

#include <csignal>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepwell/memory/pool.h"
#include "swap/swap_file.h"
#include "tests/support/fault_engine.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::swap {
namespace {

class SwapSpaceTest : public testing::Test {
 protected:
  std::unique_ptr<SwapSpace> open() {
    return SwapSpace::open({.folders = {{.path = folder_.path().string()}}}).value_or_throw();
  }
  memory::Block block(std::uint64_t bytes) {
    return pool_.allocate(bytes, memory::Holder::kStaging).value();
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<memory::Source> source_ = memory::make_host_source(false);
  memory::Budget budget_{"host", kGiB};
  memory::Pool pool_{budget_, *source_};
};

Status transfer(SwapSpace& space, io::Direction direction, Extent& extent, std::byte* data) {
  Transfer moved{
      .direction = direction, .extent = &extent, .size_bytes = extent.size_bytes, .data = data};
  return space.run_blocking(moved);
}

TEST_F(SwapSpaceTest, BytesComeBackForEverySize) {
  const auto space = open();
  for (const std::uint64_t bytes :
       {1ULL, 4095ULL, 4096ULL, 4097ULL, 1048575ULL, 1048577ULL, 3145729ULL}) {
    memory::Block out = block(bytes);
    memory::Block in = block(bytes);
    for (std::uint64_t at = 0; at < bytes; ++at) {
      out.data()[at] = static_cast<std::byte>(at * 31 + bytes);
    }
    Extent extent = space->allocate(bytes, "page").value();
    ASSERT_TRUE(transfer(*space, io::Direction::kWrite, extent, out.data()).ok()) << bytes;
    ASSERT_TRUE(transfer(*space, io::Direction::kRead, extent, in.data()).ok()) << bytes;
    EXPECT_EQ(std::memcmp(in.data(), out.data(), bytes), 0) << bytes;
    space->release(std::move(extent));
  }
  EXPECT_EQ(space->stats().allocated_bytes, 0U);
}

TEST_F(SwapSpaceTest, T11FlippedBitNamesExtentBlockAndFile) {
  const auto space = open();
  constexpr std::uint64_t kBytes = 3 * kChecksumBlockBytes;
  memory::Block data = block(kBytes);
  std::memset(data.data(), 1, kBytes);
  Extent extent = space->allocate(kBytes, "h.7.weight").value();
  ASSERT_TRUE(transfer(*space, io::Direction::kWrite, extent, data.data()).ok());
  FILE* file = std::fopen(space->path().c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  std::fseek(file, static_cast<long>(extent.offset + kChecksumBlockBytes + 99), SEEK_SET);
  std::fputc(3, file);
  std::fclose(file);
  const Status status = transfer(*space, io::Direction::kRead, extent, data.data());
  EXPECT_EQ(status.code(), StatusCode::kCorrupt);
  for (const std::string& part : {std::string("'h.7.weight' block 1"), space->path()}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
  EXPECT_EQ(space->stats().corrupt_blocks, 1U);
  space->release(std::move(extent));
}

TEST_F(SwapSpaceTest, SeveralFoldersAreOneSpace) {
  const test::TemporaryFolder second;
  const auto space = SwapSpace::open({.folders = {{.path = folder_.path().string(), .weight = 3},
                                                  {.path = second.path().string()}},
                                      .volume = {.stripe_bytes = 64 * kKiB}})
                         .value_or_throw();
  constexpr std::uint64_t kBytes = 4 * kMiB;
  memory::Block out = block(kBytes);
  memory::Block in = block(kBytes);
  for (std::uint64_t at = 0; at < kBytes; ++at) {
    out.data()[at] = static_cast<std::byte>(at * 31 + at / 4096);
  }
  Extent extent = space->allocate(kBytes, "page").value();
  ASSERT_TRUE(transfer(*space, io::Direction::kWrite, extent, out.data()).ok());
  ASSERT_TRUE(transfer(*space, io::Direction::kRead, extent, in.data()).ok());
  EXPECT_EQ(std::memcmp(in.data(), out.data(), kBytes), 0);
  const auto devices = space->device_stats();
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].io.write.bytes, 3 * kMiB);
  EXPECT_EQ(devices[1].io.write.bytes, kMiB);
  space->release(std::move(extent));
}

TEST_F(SwapSpaceTest, T11TruncatedFileIsFound) {
  const auto space = open();
  memory::Block data = block(2 * kMiB);
  std::memset(data.data(), 1, 2 * kMiB);
  Extent extent = space->allocate(2 * kMiB, "h.7.weight").value();
  ASSERT_TRUE(transfer(*space, io::Direction::kWrite, extent, data.data()).ok());
  ASSERT_EQ(::truncate(space->path().c_str(), static_cast<off_t>(extent.offset + kMiB)), 0);
  const Status status = transfer(*space, io::Direction::kRead, extent, data.data());
  EXPECT_EQ(status.code(), StatusCode::kIo);
  for (const std::string& part :
       {std::string("'h.7.weight'"), space->path(), std::string("the file ends here")}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
  space->release(std::move(extent));
}

/// A read that never completes: an error in time, and neither its bytes nor, for a write, its place
/// on the disk are used again.
TEST_F(SwapSpaceTest, T16RequestWithoutAnAnswerEndsAndItsPlaceIsNotReused) {
  const auto control = std::make_shared<test::FaultControl>();
  const auto space =
      SwapSpace::open({.folders = {{.path = folder_.path().string()}},
                       .volume = {.loop = {.deadline = std::chrono::milliseconds(50)}},
                       .engine_factory = [&] { return Result(test::make_fault_engine(control)); }})
          .value_or_throw();
  memory::Block data = block(4096);
  Extent lost = space->allocate(4096, "page").value();
  control->lose(1);
  Transfer moved{.direction = io::Direction::kWrite,
                 .extent = &lost,
                 .size_bytes = lost.size_bytes,
                 .data = data.data()};
  const Status status = space->run_blocking(moved);
  EXPECT_EQ(status.code(), StatusCode::kTimedOut);
  EXPECT_TRUE(moved.request.abandoned);
  const std::uint64_t offset = lost.offset;
  space->release(std::move(lost));
  data.abandon();
  EXPECT_EQ(pool_.abandoned_bytes(), 4096U);
  Extent next = space->allocate(4096, "next").value();
  EXPECT_NE(next.offset, offset);
  memory::Block other = block(4096);
  EXPECT_TRUE(transfer(*space, io::Direction::kWrite, next, other.data()).ok());
  space->release(std::move(next));
}

TEST_F(SwapSpaceTest, FolderThatCannotBeUsedIsNamed) {
  const std::string missing = folder_.file("nowhere");
  Status status = SwapSpace::open({.folders = {{.path = missing}}}).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find(missing), std::string::npos);
  const std::string file = folder_.file("file");
  std::fclose(std::fopen(file.c_str(), "w"));
  EXPECT_EQ(SwapSpace::open({.folders = {{.path = file}}}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(SwapSpaceTest, NoRoomGivesTheNumbersAndLeavesNothing) {
  const Status status = SwapSpace::open({.folders = {{.path = folder_.path().string()}},
                                         .reserve_bytes = std::uint64_t{1} << 50})
                            .status();
  EXPECT_TRUE(status.code() == StatusCode::kNoSpace || status.code() == StatusCode::kIo)
      << status.to_string();
  EXPECT_NE(status.message().find("free"), std::string::npos) << status.message();
  EXPECT_EQ(folder_.entry_count(), 0U);
}

TEST_F(SwapSpaceTest, FilesOfOthersAreLeftAlone) {
  for (const char* name : {"stepwell-notes.swap", "stepwell-1-2.swap", "stepwell-1-2-3.swap.bak"}) {
    std::fclose(std::fopen(folder_.file(name).c_str(), "w"));
  }
  ASSERT_EQ(::mkfifo(folder_.file("stepwell-1-2-3.swap").c_str(), 0600), 0);
  EXPECT_EQ(reclaim_dead_files(folder_.path().string()), 0U);
  EXPECT_EQ(folder_.entry_count(), 4U);
}

TEST_F(SwapSpaceTest, HeldFolderLockIsAnErrorNotAHang) {
  const int fd = ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  const Status status = SwapSpace::open({.folders = {{.path = folder_.path().string()}}}).status();
  ::close(fd);
  EXPECT_EQ(status.code(), StatusCode::kTimedOut);
  EXPECT_NE(status.message().find(folder_.path().string()), std::string::npos);
}

TEST_F(SwapSpaceTest, NextFilesAreKnownBeforeTheyAreMade) {
  const test::TemporaryFolder second;
  const std::vector<std::string> folders = {folder_.path().string(), second.path().string()};
  const std::vector<std::string> paths = next_swap_files(folders, 0);
  const auto space =
      SwapSpace::open({.folders = {{.path = folders[0]}, {.path = folders[1]}}}).value_or_throw();
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths[0], space->path());
  EXPECT_TRUE(std::filesystem::exists(paths[1]));
}

TEST_F(SwapSpaceTest, FileOfAKilledProcessIsReclaimedALiveOneIsNot) {
  const auto live = open();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto file = SwapFile::create(folder_.path().string(), 1, true);
    [[maybe_unused]] const ssize_t told = ::write(ready[1], file.ok() ? "y" : "n", 1);
    ::pause();
    ::_exit(0);
  }
  char answer = 'n';
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_EQ(folder_.entry_count(), 2U);
  EXPECT_EQ(reclaim_dead_files(folder_.path().string()), 1U);
  EXPECT_EQ(folder_.entry_count(), 1U) << "the live one stays";
}

}  // namespace
}  // namespace stepwell::swap
