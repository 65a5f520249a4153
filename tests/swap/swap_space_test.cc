#include "swap/swap_space.h"

#include <csignal>
#include <cstdio>
#include <cstring>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepwell/memory/pool.h"
#include "swap/swap_file.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::swap {
namespace {

class SwapSpaceTest : public testing::Test {
 protected:
  std::unique_ptr<SwapSpace> open() {
    return SwapSpace::open({.folder = folder_.path().string()}).value_or_throw();
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

TEST_F(SwapSpaceTest, FlippedBitNamesExtentBlockAndFile) {
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

TEST_F(SwapSpaceTest, FolderThatCannotBeUsedIsNamed) {
  const std::string missing = folder_.file("nowhere");
  Status status = SwapSpace::open({.folder = missing}).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find(missing), std::string::npos);
  const std::string file = folder_.file("file");
  std::fclose(std::fopen(file.c_str(), "w"));
  EXPECT_EQ(SwapSpace::open({.folder = file}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(SwapSpaceTest, NoRoomGivesTheNumbersAndLeavesNothing) {
  const Status status =
      SwapSpace::open({.folder = folder_.path().string(), .reserve_bytes = std::uint64_t{1} << 50})
          .status();
  EXPECT_TRUE(status.code() == StatusCode::kNoSpace || status.code() == StatusCode::kIo)
      << status.to_string();
  EXPECT_NE(status.message().find("free"), std::string::npos) << status.message();
  EXPECT_EQ(folder_.entry_count(), 0U);
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
