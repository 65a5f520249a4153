// Machines that refuse things: calls forbidden by a seccomp filter, no locked memory, a full disk,
// a file system without direct I/O. Each for real, where this machine allows to make it so.
#include <cerrno>
#include <cstring>
#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/file.h"
#include "io/loop.h"
#include "stepwell/log.h"
#include "tests/support/aligned_memory.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::io {
namespace {

/// Runs `body` in a process of its own, which cannot change the limits of this one, and returns
/// what it returned. "" and a failed test when it died.
std::string in_child(const std::function<std::string()>& body) {
  int channel[2];
  EXPECT_EQ(::pipe(channel), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // so that a hang fails
    const std::string text = body();
    [[maybe_unused]] const ssize_t written = ::write(channel[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(channel[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(channel[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(channel[0]);
  int state = 0;
  ::waitpid(child, &state, 0);
  EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << "the child died, state " << state;
  return text;
}

/// From now on, in this process, the calls fail with EPERM as in a container that forbids them.
bool forbid(const std::vector<unsigned>& calls) {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const unsigned call : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// Writes and reads back through `loop`; "" or what went wrong.
std::string try_loop(Loop& loop, const File& file, std::span<std::byte> memory) {
  const auto half = memory.size() / 2;
  std::memset(memory.data(), 7, half);
  for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
    Op op;
    op.direction = direction;
    op.file = &file;
    op.data = memory.data() + (direction == Direction::kRead ? half : 0);
    op.size_bytes = half;
    if (const Status status = run_blocking(loop, op); !status.ok()) {
      return status.to_string();
    }
  }
  return std::memcmp(memory.data(), memory.data() + half, half) == 0 ? "" : "other bytes came back";
}

class Environment : public testing::Test {
 protected:
  std::string with_forbidden(const std::vector<unsigned>& calls) {
    return in_child([&]() -> std::string {
      if (!forbid(calls)) {
        return "skip";
      }
      set_log_level(LogLevel::kError);
      Result<std::unique_ptr<Engine>> engine = Engine::create({});
      if (!engine.ok()) {
        return engine.status().to_string();
      }
      Loop loop(std::move(engine).value());
      const File file = File::open(folder_.file("data"), {.create = true}).value_or_throw();
      test::AlignedMemory memory(kMiB);
      const std::string problem = try_loop(loop, file, memory.bytes());
      return problem.empty() ? loop.report().to_string() : problem;
    });
  }

  /// The report of an engine that works under a limit of `bytes`, or "skip: ...".
  std::string with_locked_memory(std::uint64_t bytes) {
    const File file = File::open(folder_.file("data"), {.create = true}).value_or_throw();
    return in_child([&]() -> std::string {
      const rlimit limit{bytes, bytes};
      ::setrlimit(RLIMIT_MEMLOCK, &limit);
      if (::geteuid() == 0 && ::setuid(65534) != 0) {
        return "skip: root has no such limit and cannot be given up here";
      }
      set_log_level(LogLevel::kError);
      Result<std::unique_ptr<Engine>> engine = Engine::create({});
      if (!engine.ok()) {
        return engine.status().to_string();
      }
      Loop loop(std::move(engine).value());
      test::AlignedMemory memory(16 * kMiB);
      loop.register_memory(memory.bytes());
      const std::string problem = try_loop(loop, file, memory.bytes());
      return problem.empty() ? loop.report().to_string() : problem;
    });
  }

  test::TemporaryFolder folder_;
};

// T20, P30
TEST_F(Environment, T20ForbiddenIoUringFallsBackToLibaioAndNamesTheCure) {
  const std::string report = with_forbidden({SYS_io_uring_setup});
  if (report == "skip") {
    GTEST_SKIP() << "seccomp filters are not permitted here";
  }
  EXPECT_EQ(report.rfind("libaio (asked for: auto)", 0), 0U) << report;
  for (const char* part : {"Operation not permitted", "--security-opt seccomp", "io_uring_setup"}) {
    EXPECT_NE(report.find(part), std::string::npos) << report;
  }
}

TEST_F(Environment, WithoutAnyKernelInterfaceThreadsDoIt) {
  const std::string report = with_forbidden({SYS_io_uring_setup, SYS_io_setup});
  if (report == "skip") {
    GTEST_SKIP() << "seccomp filters are not permitted here";
  }
  EXPECT_EQ(report.rfind("threads (asked for: auto)", 0), 0U) << report;
  EXPECT_NE(report.find("io_setup"), std::string::npos) << report;
}

TEST_F(Environment, IoUringThatMayOnlyBeSetUpIsNotUsed) {
  const std::string report = with_forbidden({SYS_io_uring_enter});
  if (report == "skip") {
    GTEST_SKIP() << "seccomp filters are not permitted here";
  }
  EXPECT_EQ(report.rfind("libaio (asked for: auto)", 0), 0U) << report;
}

TEST_F(Environment, EngineThatWasAskedForByNameIsAnErrorWithTheCure) {
  const std::string text = in_child([&]() -> std::string {
    return forbid({SYS_io_uring_setup})
               ? Engine::create({.kind = EngineKind::kUring}).status().to_string()
               : "skip";
  });
  if (text == "skip") {
    GTEST_SKIP() << "seccomp filters are not permitted here";
  }
  EXPECT_EQ(text.rfind("permission denied", 0), 0U) << text;
  EXPECT_NE(text.find("sysctl kernel.io_uring_disabled"), std::string::npos) << text;
}

// T20, P31
TEST_F(Environment, T20LittleLockedMemoryMeansUnregisteredBuffersNotFailure) {
  const std::string report = with_locked_memory(kMiB);
  if (report.rfind("skip", 0) == 0) {
    GTEST_SKIP() << report;
  }
  EXPECT_EQ(report.rfind("io_uring", 0), 0U) << report;
  for (const char* part : {"not used: registered buffers", "16 MiB", "is 1 MiB", "ulimit -l"}) {
    EXPECT_NE(report.find(part), std::string::npos) << report;
  }
}

TEST_F(Environment, WithoutAnyLockedMemoryIoGoesOnAndTheCureIsNamed) {
  const std::string report = with_locked_memory(0);
  if (report.rfind("skip", 0) == 0) {
    GTEST_SKIP() << report;
  }
  // Kernels differ in whether a ring itself counts.
  EXPECT_TRUE(report.rfind("libaio", 0) == 0 || report.rfind("io_uring", 0) == 0) << report;
  EXPECT_NE(report.find("ulimit -l"), std::string::npos) << report;
}

// T10
TEST_F(Environment, T10G1FullDiskGivesPathErrnoAndBytesAndTheEngineGoesOn) {
  const test::SmallDisk disk(folder_.path().string(), "tmpfs", "size=16m");
  if (!disk.mounted()) {
    GTEST_SKIP() << "mounting a small disk is not permitted here";
  }
  for (const EngineKind kind : {EngineKind::kUring, EngineKind::kLibaio, EngineKind::kThreads}) {
    Result<std::unique_ptr<Engine>> engine = Engine::create({.kind = kind});
    if (!engine.ok()) {
      continue;
    }
    const File file = File::open(folder_.file("data"), {.create = true}).value_or_throw();
    Loop loop(std::move(engine).value());
    test::AlignedMemory memory(32 * kMiB);
    Op op;
    op.direction = Direction::kWrite;
    op.file = &file;
    op.data = memory.bytes().data();
    op.size_bytes = memory.bytes().size();
    const Status status = run_blocking(loop, op);
    EXPECT_EQ(status.code(), StatusCode::kNoSpace) << status.to_string();
    EXPECT_EQ(status.os_error(), ENOSPC);
    for (const std::string& part :
         {std::string("write of 33554432 bytes"), file.path(), std::string("free")}) {
      EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
    }
    EXPECT_EQ(try_loop(loop, file, memory.bytes().first(2 * kMiB)), "");
    ::unlink(file.path().c_str());
  }
}

// T19
TEST_F(Environment, T19FileSystemWithoutDirectIoIsServedThroughThePageCacheAndSaysSo) {
  const test::SmallDisk disk(folder_.path().string(), "ramfs", "");
  if (!disk.mounted()) {
    GTEST_SKIP() << "mounting a small disk is not permitted here";
  }
  const File file = File::open(folder_.file("data"), {.create = true}).value_or_throw();
  EXPECT_FALSE(file.direct());
  EXPECT_NE(file.direct_refusal().find("refuses O_DIRECT"), std::string::npos);
  Loop loop(Engine::create({}).value_or_throw());
  test::AlignedMemory memory(2 * kMiB);
  EXPECT_EQ(try_loop(loop, file, memory.bytes()), "");
}

}  // namespace
}  // namespace stepwell::io
