// One suite for every engine, through a Loop as the library uses them.
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "io/file.h"
#include "io/loop.h"
#include "tests/support/fault_engine.h"
#include "tests/support/memory_device.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::io {
namespace {

struct Subject {
  std::string engine;
  bool direct = true;
};

constexpr std::uint32_t kQueueDepth = 4;

Result<std::unique_ptr<Engine>> engine_of(const Subject& subject) {
  if (subject.engine == "memory") {
    return test::make_memory_engine(
        std::make_shared<test::MemoryDevice>(test::MemoryDeviceOptions{.seed = 7}), kQueueDepth);
  }
  if (subject.engine == "faulty") {
    const auto control = std::make_shared<test::FaultControl>();
    control->shorten(true);
    return test::make_fault_engine(control);
  }
  return Engine::create({.kind = parse_engine_kind(subject.engine).value(),
                         .queue_depth = kQueueDepth,
                         .thread_count = 2});
}

class EngineConformance : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Engine>> engine = engine_of(GetParam());
    if (!engine.ok()) {
      GTEST_SKIP() << engine.status().to_string();
    }
    loop_ = std::make_unique<Loop>(std::move(engine).value());
    file_ = std::make_unique<File>(
        File::open(folder_.file("data"), {.create = true, .direct = GetParam().direct})
            .value_or_throw());
  }
  Status run(Direction direction, std::byte* data, std::uint64_t offset, std::uint64_t bytes) {
    Op op;
    op.direction = direction;
    op.file = file_.get();
    op.data = data;
    op.offset = offset;
    op.size_bytes = bytes;
    return run_blocking(*loop_, op);
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<File> file_;
};

TEST_P(EngineConformance, BytesComeBackForEverySizeAndOffset) {
  for (const std::uint64_t bytes : {1ULL, 511ULL, 4096ULL, 4097ULL, 1048577ULL}) {
    for (const std::uint64_t offset : {0ULL, 3ULL, 8192ULL}) {
      std::vector<std::byte> out(bytes, static_cast<std::byte>(bytes + offset));
      std::vector<std::byte> in(bytes);
      ASSERT_TRUE(run(Direction::kWrite, out.data(), offset, bytes).ok())
          << bytes << " at " << offset;
      ASSERT_TRUE(run(Direction::kFlush, nullptr, 0, 0).ok());
      ASSERT_TRUE(run(Direction::kRead, in.data(), offset, bytes).ok())
          << bytes << " at " << offset;
      EXPECT_EQ(in, out) << bytes << " at " << offset;
    }
  }
}

TEST_P(EngineConformance, MoreRequestsThanTheQueueTakes) {
  constexpr std::size_t kCount = 50;
  struct Shared {
    std::mutex mutex;
    std::condition_variable done;
    std::size_t left = kCount;
    int failed = 0;
  } shared;
  std::vector<std::byte> data(kCount, std::byte{7});
  std::vector<Op> ops(kCount);
  std::vector<Op*> pointers;
  for (std::size_t index = 0; index < kCount; ++index) {
    Op& op = ops[index];
    op.direction = Direction::kWrite;
    op.file = file_.get();
    op.data = data.data() + index;
    op.offset = index;
    op.size_bytes = 1;
    op.context = &shared;
    op.on_complete = [](Op& done, const Status& status) noexcept {
      Shared& all = *static_cast<Shared*>(done.context);
      const std::lock_guard lock(all.mutex);
      all.failed += status.ok() ? 0 : 1;
      if (--all.left == 0) {
        all.done.notify_all();
      }
    };
    pointers.push_back(&op);
  }
  loop_->enqueue(pointers);
  std::unique_lock lock(shared.mutex);
  shared.done.wait(lock, [&] { return shared.left == 0; });
  EXPECT_EQ(shared.failed, 0);
  lock.unlock();
  std::vector<std::byte> in(kCount);
  ASSERT_TRUE(run(Direction::kRead, in.data(), 0, kCount).ok());
  EXPECT_EQ(in, data);
}

TEST_P(EngineConformance, ReadPastTheEndIsAnErrorAndTheEngineGoesOn) {
  std::vector<std::byte> data(100);
  ASSERT_TRUE(run(Direction::kWrite, data.data(), 0, 10).ok());
  const Status status = run(Direction::kRead, data.data(), 0, 100);
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find(file_->path()), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("bytes missing: 90"), std::string::npos) << status.message();
  EXPECT_TRUE(run(Direction::kRead, data.data(), 0, 10).ok());
}

INSTANTIATE_TEST_SUITE_P(Engines,
                         EngineConformance,
                         testing::Values(Subject{"io_uring", true},
                                         Subject{"io_uring", false},
                                         Subject{"threads", true},
                                         Subject{"threads", false},
                                         Subject{"faulty", true},
                                         Subject{"memory", false}),
                         [](const auto& tested) {
                           return tested.param.engine +
                                  (tested.param.direct ? "_direct" : "_buffered");
                         });

TEST(File, MissingFileIsNamed) {
  const Status status = File::open("/nonexistent/file", {}).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/nonexistent/file"), std::string::npos);
}

}  // namespace
}  // namespace stepwell::io
