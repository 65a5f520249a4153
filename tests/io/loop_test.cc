// What the loop adds to an engine: deadlines, priorities, cancellation, counters.
#include "io/loop.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "io/file.h"
#include "stepwell/log.h"
#include "tests/support/fault_engine.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::io {
namespace {

using std::chrono::milliseconds;

/// Outcomes in the order of completion.
class Outcomes {
 public:
  void watch(Op& op) {
    op.context = this;
    op.on_complete = [](Op& done, const Status& status) noexcept {
      Outcomes& all = *static_cast<Outcomes*>(done.context);
      const std::lock_guard lock(all.mutex_);
      all.ops_.push_back(&done);
      all.statuses_.push_back(status);
      all.changed_.notify_all();
    };
  }
  /// The first `count`, when there are as many.
  std::vector<Op*> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ops_.size() >= count; });
    return ops_;
  }
  Status status(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return statuses_.at(index);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Op*> ops_;
  std::vector<Status> statuses_;
};

class LoopTest : public testing::Test {
 protected:
  Loop& loop(milliseconds deadline = milliseconds(60000)) {
    loop_ = std::make_unique<Loop>(
        test::make_fault_engine(control_),
        LoopOptions{.merged_bytes_max = merged_bytes_max_, .deadline = deadline});
    return *loop_;
  }
  Op& write(std::uint64_t offset, Priority priority = Priority::kDemand) {
    Op& op = ops_.emplace_back();
    op.direction = Direction::kWrite;
    op.priority = priority;
    op.file = &file_;
    op.offset = offset;
    op.data = data_.data() + offset;
    op.size_bytes = 100;
    outcomes_.watch(op);
    return op;
  }

  test::TemporaryFolder folder_;
  File file_ = File::open(folder_.file("data"), {.create = true}).value_or_throw();
  std::shared_ptr<test::FaultControl> control_ = std::make_shared<test::FaultControl>();
  std::vector<std::byte> data_ = std::vector<std::byte>(10000, std::byte{5});
  std::uint64_t merged_bytes_max_ = 0;
  Outcomes outcomes_;
  std::deque<Op> ops_;
  std::unique_ptr<Loop> loop_;  // last: ends before what it uses
};

/// T16: one request never completes.
TEST_F(LoopTest, T16LateRequestEndsByTheDeadlineWithAListOfAllInFlight) {
  std::mutex mutex;
  std::string logged;
  set_log_sink([&](LogLevel, const std::string& text) {
    const std::lock_guard lock(mutex);
    logged += text;
  });
  Loop& tested = loop(milliseconds(100));
  control_->lose(1);
  Op& lost = write(0);
  const auto begin = std::chrono::steady_clock::now();
  tested.enqueue(lost);
  tested.enqueue(write(500));
  EXPECT_EQ(outcomes_.wait_for(2)[1], &lost);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(100));
  set_log_sink({});
  EXPECT_TRUE(outcomes_.status(0).ok());
  const Status status = outcomes_.status(1);
  EXPECT_EQ(status.code(), StatusCode::kTimedOut);
  for (const std::string& part :
       {std::string("write of 100 bytes at offset 0"), file_.path(), std::string("1 in flight")}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
    const std::lock_guard lock(mutex);
    EXPECT_NE(logged.find(part), std::string::npos) << logged;
  }
  EXPECT_TRUE(lost.abandoned);
  EXPECT_EQ(tested.stats().timed_out_requests, 1U);
  EXPECT_EQ(tested.stats().engine.abandoned_requests, 1U);
}

TEST_F(LoopTest, AnAnswerThatComesAfterAllFreesThePlace) {
  Loop& tested = loop(milliseconds(50));
  control_->lose(8);  // the whole queue
  for (std::uint64_t index = 0; index < 8; ++index) {
    tested.enqueue(write(index * 200));
  }
  outcomes_.wait_for(8);
  tested.enqueue(write(5000));
  outcomes_.wait_for(9);
  EXPECT_EQ(outcomes_.status(8).code(), StatusCode::kTimedOut);
  EXPECT_NE(outcomes_.status(8).message().find("completes nothing any more"), std::string::npos);
  control_->answer_lost();
  Status status;
  for (std::size_t done = 10; done < 1'000'000; ++done) {
    tested.enqueue(write(6000));
    outcomes_.wait_for(done);
    status = outcomes_.status(done - 1);
    if (status.ok()) {
      break;
    }
  }
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST_F(LoopTest, EndsAlthoughARequestNeverDoes) {
  control_->lose(1);
  Op& lost = write(0);
  loop(milliseconds(50)).enqueue(lost);
  loop_.reset();
  EXPECT_EQ(outcomes_.status(0).code(), StatusCode::kTimedOut);
}

/// Single-block requests of many callers fill the queue.
TEST_F(LoopTest, G13DepthCountsOverAllRequests) {
  Loop& tested = loop();
  control_->hold();
  for (std::uint64_t index = 0; index < 8; ++index) {
    tested.enqueue(write(index * 200));
  }
  control_->wait_for_held(8);
  EXPECT_EQ(tested.stats().in_flight_requests, 8U);
  control_->resume();
  outcomes_.wait_for(8);
}

TEST_F(LoopTest, WaitingRequestIsCancelledOneInTheEngineIsNot) {
  Loop& tested = loop();
  control_->hold();
  for (std::uint64_t index = 0; index < 8; ++index) {
    tested.enqueue(write(index * 200));
  }
  control_->wait_for_held(8);
  Op& waiting = write(5000);
  tested.enqueue(waiting);
  EXPECT_FALSE(tested.cancel(ops_.front()));
  EXPECT_TRUE(tested.cancel(waiting));
  EXPECT_EQ(outcomes_.wait_for(1)[0], &waiting);
  EXPECT_EQ(outcomes_.status(0).code(), StatusCode::kCancelled);
  control_->resume();
  outcomes_.wait_for(9);
  EXPECT_EQ(tested.stats().failed_requests, 1U);
}

TEST_F(LoopTest, UrgentRequestsOvertake) {
  Loop& tested = loop();
  control_->hold();
  for (std::uint64_t index = 0; index < 7; ++index) {
    tested.enqueue(write(index * 200, Priority::kWriteBack));
  }
  control_->wait_for_held(7);
  Op& first = write(5000, Priority::kWriteBack);
  Op& second = write(5200, Priority::kPrefetch);
  tested.enqueue(first);
  tested.enqueue(second);
  EXPECT_TRUE(tested.change_priority(second, Priority::kDemand));
  control_->wait_for_held(8);  // the place kept for demand
  EXPECT_FALSE(tested.change_priority(second, Priority::kPrefetch));
  EXPECT_NE(tested.in_flight_dump().find("write (demand) of 100 bytes at offset 5200"),
            std::string::npos);
  control_->resume();
  const std::vector<Op*> order = outcomes_.wait_for(9);
  EXPECT_EQ(order[8], &first);
}

TEST_F(LoopTest, PartsOfAMergedRequestThatFailsAreTriedOneByOne) {
  merged_bytes_max_ = 4096;
  Loop& tested = loop();
  control_->hold();
  tested.enqueue(write(9000));
  control_->wait_for_held(1);
  std::vector<Op*> neighbours;
  for (std::uint64_t index = 0; index < 3; ++index) {
    neighbours.push_back(&write(index * 100));
  }
  tested.enqueue(neighbours);
  control_->wait_for_held(2);
  control_->fail(Direction::kWrite, EIO, 3);  // the first, the merged one, and one of its parts
  control_->resume();
  outcomes_.wait_for(4);
  EXPECT_EQ(tested.stats().merged_requests, 3U);
  int failed = 0;
  for (std::size_t index = 0; index < 4; ++index) {
    failed += outcomes_.status(index).ok() ? 0 : 1;
  }
  EXPECT_EQ(failed, 2);
}

TEST_F(LoopTest, ManyThreadsAtOnce) {
  merged_bytes_max_ = 4096;
  Loop& tested = loop();
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 50;
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<std::byte> out(100, static_cast<std::byte>(thread));
      std::vector<std::byte> in(100);
      for (std::size_t index = 0; index < kEach; ++index) {
        Op op;
        op.file = &file_;
        op.offset = (thread * kEach + index) * 100;
        op.size_bytes = 100;
        op.direction = Direction::kWrite;
        op.data = out.data();
        failed += run_blocking(tested, op).ok() ? 0 : 1;
        op.direction = Direction::kRead;
        op.data = in.data();
        failed += run_blocking(tested, op).ok() && in == out ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failed, 0);
  const LoopStats stats = tested.stats();
  EXPECT_EQ(stats.read.requests, kThreads * kEach);
  EXPECT_EQ(stats.write.bytes, kThreads * kEach * 100);
  EXPECT_EQ(stats.read.latency.count, kThreads * kEach);
  EXPECT_GE(stats.read.latency.max, stats.engine.read.latency.p50);
  EXPECT_GT(stats.busy.count(), 0);
}

}  // namespace
}  // namespace stepwell::io
