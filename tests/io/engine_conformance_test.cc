// One suite for every engine, through a Loop as the library uses them.
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "io/file.h"
#include "io/loop.h"
#include "tests/support/aligned_memory.h"
#include "tests/support/fault_engine.h"
#include "tests/support/memory_device.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::io {
namespace {

struct Subject {
  std::string name;
  EngineOptions options;  // kind kAuto: a test engine of that name
  bool direct = true;
  bool registered = false;
};

constexpr std::uint32_t kQueueDepth = 4;

Result<std::unique_ptr<Engine>> engine_of(const Subject& subject) {
  if (subject.name == "memory") {
    return test::make_memory_engine(
        std::make_shared<test::MemoryDevice>(test::MemoryDeviceOptions{.seed = 7}), kQueueDepth);
  }
  if (subject.name == "faulty") {
    const auto control = std::make_shared<test::FaultControl>();
    control->shorten(true);
    return test::make_fault_engine(control);
  }
  EngineOptions options = subject.options;
  options.queue_depth = kQueueDepth;
  options.thread_count = 2;
  return Engine::create(options);
}

class EngineConformance : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Engine>> engine = engine_of(GetParam());
    if (!engine.ok()) {
      GTEST_SKIP() << engine.status().to_string();
    }
    file_ = std::make_unique<File>(
        File::open(folder_.file("data"), {.create = true, .direct = GetParam().direct})
            .value_or_throw());
    loop_ = std::make_unique<Loop>(std::move(engine).value());
    if (GetParam().registered) {
      loop_->register_file(*file_);
      loop_->register_memory(memory_.bytes());
    }
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

  /// `bytes` of page-aligned memory, `shift` bytes behind its start, registered where asked for.
  std::span<std::byte> memory(std::uint64_t shift, std::uint64_t bytes) {
    return memory_.bytes().subspan(shift, bytes);
  }

  test::TemporaryFolder folder_;
  test::AlignedMemory memory_{8 * kMiB};
  std::unique_ptr<File> file_;
  std::unique_ptr<Loop> loop_;  // ends before what it uses
};

/// T09: one byte to three blocks, one byte more and less, odd offsets, odd addresses.
TEST_P(EngineConformance, T09G1G32BytesComeBackForEverySizeOffsetAndAddress) {
  constexpr std::uint64_t kBlock = 64 * kKiB;
  std::vector<std::uint64_t> sizes = {1, 2, 511, 512, 513, 4095, 4096, 4097};
  for (std::uint64_t blocks = 1; blocks <= 3; ++blocks) {
    sizes.insert(sizes.end(), {blocks * kBlock - 1, blocks * kBlock, blocks * kBlock + 1});
  }
  sizes.push_back(kMiB + 1);
  std::uint64_t number = 0;
  for (const std::uint64_t bytes : sizes) {
    for (const std::uint64_t offset : {0ULL, 1ULL, 512ULL, 4095ULL, 8192ULL}) {
      for (const std::uint64_t shift : {0ULL, 1ULL, 512ULL}) {
        const auto out = memory(shift, bytes);
        const auto in = memory(4 * kMiB + shift, bytes);
        ++number;
        for (std::uint64_t at = 0; at < bytes; ++at) {
          out[at] = static_cast<std::byte>(at * 7 + number);
        }
        std::memset(in.data(), 0, bytes);
        const Status written = run(Direction::kWrite, out.data(), offset, bytes);
        ASSERT_TRUE(written.ok()) << bytes << " at " << offset << ": " << written.to_string();
        const Status read = run(Direction::kRead, in.data(), offset, bytes);
        ASSERT_TRUE(read.ok()) << bytes << " at " << offset << ": " << read.to_string();
        ASSERT_EQ(std::memcmp(in.data(), out.data(), bytes), 0) << bytes << " at " << offset;
      }
    }
  }
  EXPECT_TRUE(run(Direction::kFlush, nullptr, 0, 0).ok());
}

/// Ops that are queued together and waited for.
class Crowd {
 public:
  explicit Crowd(std::size_t count) : ops(count), left_(count) {}
  Status run(Loop& loop) {
    std::vector<Op*> pointers;
    for (Op& op : ops) {
      op.context = this;
      op.on_complete = [](Op& done, const Status& status) noexcept {
        Crowd& all = *static_cast<Crowd*>(done.context);
        const std::lock_guard lock(all.mutex_);
        all.first_error_ = all.first_error_.ok() ? status : all.first_error_;
        if (--all.left_ == 0) {
          all.done_.notify_all();
        }
      };
      pointers.push_back(&op);
    }
    loop.enqueue(pointers);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return left_ == 0; });
    left_ = ops.size();
    return first_error_;
  }

  std::vector<Op> ops;

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  std::size_t left_;
  Status first_error_;
};

TEST_P(EngineConformance, MoreRequestsThanTheQueueTakes) {
  constexpr std::size_t kCount = 50;
  Crowd crowd(kCount);
  const auto out = memory(0, kCount);
  for (std::size_t index = 0; index < kCount; ++index) {
    out[index] = static_cast<std::byte>(index);
    crowd.ops[index].direction = Direction::kWrite;
    crowd.ops[index].file = file_.get();
    crowd.ops[index].data = &out[index];
    crowd.ops[index].offset = index;
    crowd.ops[index].size_bytes = 1;
    crowd.ops[index].alone = true;
  }
  ASSERT_TRUE(crowd.run(*loop_).ok());
  const auto in = memory(kMiB, kCount);
  ASSERT_TRUE(run(Direction::kRead, in.data(), 0, kCount).ok());
  EXPECT_EQ(std::memcmp(in.data(), out.data(), kCount), 0);
}

TEST_P(EngineConformance, NeighboursInTheFileGoTogetherWhereverTheyAreInMemory) {
  constexpr std::size_t kCount = 40;
  constexpr std::size_t kBytes = 4096;
  Crowd crowd(kCount);
  for (std::size_t index = 0; index < kCount; ++index) {
    Op& op = crowd.ops[index];
    // Pairs lie next to each other, pairs in reverse order.
    const auto piece = memory((kCount - 2 * (index / 2) + index % 2) * kBytes, kBytes);
    std::memset(piece.data(), static_cast<int>(index), kBytes);
    op.direction = Direction::kWrite;
    op.file = file_.get();
    op.data = piece.data();
    op.offset = index * kBytes;
    op.size_bytes = kBytes;
  }
  const Status written = crowd.run(*loop_);
  ASSERT_TRUE(written.ok()) << written.to_string();
  const auto in = memory(kMiB, kCount * kBytes);
  ASSERT_TRUE(run(Direction::kRead, in.data(), 0, in.size()).ok());
  for (std::size_t at = 0; at < in.size(); ++at) {
    ASSERT_EQ(in[at], static_cast<std::byte>(at / kBytes)) << at;
  }
  for (Op& op : crowd.ops) {
    op.direction = Direction::kRead;
    std::memset(op.data, 0xff, kBytes);
  }
  ASSERT_TRUE(crowd.run(*loop_).ok());
  for (std::size_t index = 0; index < kCount; ++index) {
    ASSERT_EQ(crowd.ops[index].data[17], static_cast<std::byte>(index));
  }
  EXPECT_GT(loop_->stats().merged_requests, 0U);
}

TEST_P(EngineConformance, CancelledOrNotEachCompletesOnce) {
  constexpr std::size_t kCount = 200;
  constexpr std::size_t kBytes = 4096;
  std::vector<Op> ops(kCount);
  struct Counts {
    std::mutex mutex;
    std::condition_variable done;
    std::size_t left = kCount;
    std::size_t cancelled = 0;
    std::size_t failed = 0;
  } counts;
  std::vector<Op*> pointers;
  for (std::size_t index = 0; index < kCount; ++index) {
    Op& op = ops[index];
    op.direction = Direction::kWrite;
    op.file = file_.get();
    op.data = memory(index * kBytes, kBytes).data();
    op.offset = index * kBytes;
    op.size_bytes = kBytes;
    op.context = &counts;
    op.on_complete = [](Op& done, const Status& status) noexcept {
      Counts& all = *static_cast<Counts*>(done.context);
      const std::lock_guard lock(all.mutex);
      all.cancelled += status.code() == StatusCode::kCancelled ? 1U : 0U;
      all.failed += status.ok() || status.code() == StatusCode::kCancelled ? 0U : 1U;
      if (--all.left == 0) {
        all.done.notify_all();
      }
    };
    pointers.push_back(&op);
  }
  loop_->enqueue(pointers);
  std::size_t given_up = 0;
  for (std::size_t index = kCount; index > 0; --index) {
    given_up += loop_->cancel(ops[index - 1]) ? 1U : 0U;
  }
  std::unique_lock lock(counts.mutex);
  counts.done.wait(lock, [&] { return counts.left == 0; });
  EXPECT_EQ(counts.cancelled, given_up);
  EXPECT_EQ(counts.failed, 0U);
}

TEST_P(EngineConformance, G2ReadPastTheEndIsAnErrorAndTheEngineGoesOn) {
  std::vector<std::byte> data(100);
  ASSERT_TRUE(run(Direction::kWrite, data.data(), 0, 10).ok());
  const Status status = run(Direction::kRead, data.data(), 0, 100);
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find(file_->path()), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("bytes missing: 90"), std::string::npos) << status.message();
  EXPECT_TRUE(run(Direction::kRead, data.data(), 0, 10).ok());
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const EngineKind kind : {EngineKind::kUring, EngineKind::kLibaio, EngineKind::kThreads}) {
    for (const bool direct : {true, false}) {
      all.push_back({.name = to_string(kind), .options = {.kind = kind}, .direct = direct});
    }
  }
  const EngineOptions uring{.kind = EngineKind::kUring};
  EngineOptions submission = uring;
  submission.submission_polling = true;
  EngineOptions completion = uring;
  completion.completion_polling = true;
  all.push_back({.name = "registered", .options = uring, .registered = true});
  all.push_back({.name = "submission_polling", .options = submission, .registered = true});
  all.push_back({.name = "completion_polling", .options = completion, .registered = true});
  all.push_back({.name = "faulty", .options = {}});
  all.push_back({.name = "memory", .options = {}, .direct = false});
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    Engines, EngineConformance, testing::ValuesIn(subjects()), [](const auto& tested) {
      return tested.param.name + (tested.param.direct ? "_direct" : "_buffered");
    });

TEST(File, G11AlignmentComesFromTheFileSystem) {
  const test::TemporaryFolder folder;
  const File file = File::open(folder.file("data"), {.create = true}).value_or_throw();
  if (!file.direct()) {
    GTEST_SKIP() << file.direct_refusal();
  }
  test::AlignedMemory memory(8192);
  std::byte* const data = memory.bytes().data();
  EXPECT_GT(file.alignment().offset_bytes, 1U);
  EXPECT_EQ(file.fd_for(data, 4096, 4096), file.direct_fd());
  EXPECT_EQ(file.fd_for(data, 4096, 4095), file.buffered_fd());
  EXPECT_EQ(file.fd_for(data, 1, 4096), file.buffered_fd());
  if (file.alignment().memory_bytes > 1) {
    EXPECT_EQ(file.fd_for(data + 1, 4096, 4096), file.buffered_fd());
  }
}

TEST(File, MissingFileIsNamed) {
  const Status status = File::open("/nonexistent/file", {}).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/nonexistent/file"), std::string::npos);
}

}  // namespace
}  // namespace stepwell::io
