#include "io/volume.h"

#include <deque>
#include <filesystem>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/fault_engine.h"
#include "tests/support/memory_device.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::io {
namespace {

class VolumeTest : public testing::Test {
 protected:
  std::vector<VolumeMember> members(const std::vector<double>& weights, bool direct = true) {
    std::vector<VolumeMember> made;
    for (const double weight : weights) {
      const std::string path = folder_.file("member" + std::to_string(made.size()));
      std::filesystem::remove(path);  // of an earlier round
      made.push_back({.file = File::open(path, {.create = true, .direct = direct}).value_or_throw(),
                      .weight = weight,
                      .cpus = {}});
    }
    return made;
  }
  static Status run(Volume& volume,
                    Direction direction,
                    std::uint64_t offset,
                    std::span<std::byte> memory) {
    Request request;
    request.direction = direction;
    request.offset = offset;
    request.data = memory.data();
    request.size_bytes = memory.size();
    return volume.run_blocking(request);
  }

  test::TemporaryFolder folder_;
};

/// Against a plain array of bytes: any members, rings, blocks, stripes, offsets and sizes.
TEST_F(VolumeTest, IsAnArrayOfBytes) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 25; ++round) {
    std::vector<double> weights(1 + random() % 3);
    for (double& weight : weights) {
      weight = 1 + static_cast<double>(random() % 3);
    }
    const VolumeOptions options{.engine = {.queue_depth = 4},
                                .block_bytes = 4096 * (1 + random() % 4),
                                .stripe_bytes = 4096 * (1 + random() % 4),
                                .rings = static_cast<std::uint32_t>(1 + random() % 2)};
    const auto volume =
        Volume::create(members(weights, random() % 2 == 0), options).value_or_throw();
    constexpr std::uint64_t kTotal = 300000;
    ASSERT_TRUE(volume->preallocate(kTotal).ok());
    std::vector<std::byte> expected(kTotal);
    for (int step = 0; step < 20; ++step) {
      const std::uint64_t offset = random() % kTotal;
      const std::uint64_t bytes = 1 + random() % (kTotal - offset);
      const auto range = std::span(expected).subspan(offset, bytes);
      if (random() % 2 == 0) {
        std::fill(range.begin(), range.end(), static_cast<std::byte>(random()));
        const Status status = run(*volume, Direction::kWrite, offset, range);
        ASSERT_TRUE(status.ok()) << status.to_string();
      }
      std::vector<std::byte> found(bytes);
      const Status status = run(*volume, Direction::kRead, offset, found);
      ASSERT_TRUE(status.ok()) << status.to_string();
      const auto [wanted, differs] = std::mismatch(range.begin(), range.end(), found.begin());
      ASSERT_EQ(wanted, range.end())
          << "round " << round << " step " << step << ", members " << weights.size() << ", block "
          << options.block_bytes << ", stripe " << options.stripe_bytes << ", rings "
          << options.rings << ": byte " << differs - found.begin() << " of " << bytes << " at "
          << offset;
    }
    Request flush;
    flush.direction = Direction::kFlush;
    EXPECT_TRUE(volume->run_blocking(flush).ok());
  }
}

/// T14: a request ten times the block with a queue of one, four at once.
TEST_F(VolumeTest, T14RequestsLargerThanTheWholeQueueWaitInsteadOfFailing) {
  const auto volume = Volume::create(members({1}),
                                     {.engine = {.queue_depth = 1},
                                      .loop = {.in_flight_bytes_max = 4096},
                                      .block_bytes = 4096})
                          .value_or_throw();
  constexpr std::uint64_t kBytes = 40960;
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    int left = 4;
    int failed = 0;
  } shared;
  std::deque<Request> requests(4);
  std::vector<std::byte> data(4 * kBytes, std::byte{3});
  for (std::size_t index = 0; index < requests.size(); ++index) {
    Request& request = requests[index];
    request.direction = Direction::kWrite;
    request.offset = index * kBytes;
    request.data = data.data() + index * kBytes;
    request.size_bytes = kBytes;
    request.context = &shared;
    request.on_complete = [](Request& done, const Status& status) noexcept {
      Shared& all = *static_cast<Shared*>(done.context);
      const std::lock_guard lock(all.mutex);
      all.failed += status.ok() ? 0 : 1;
      --all.left;
      all.changed.notify_all();
    };
    volume->submit(request);
  }
  std::unique_lock lock(shared.mutex);
  shared.changed.wait(lock, [&] { return shared.left == 0; });
  EXPECT_EQ(shared.failed, 0);
  EXPECT_EQ(volume->stats()[0].io.engine.write.calls, 40U);
}

TEST_F(VolumeTest, FailureOfOnePieceNamesItsMember) {
  const auto good = std::make_shared<test::FaultControl>();
  const auto bad = std::make_shared<test::FaultControl>();
  int made = 0;
  const auto volume =
      Volume::create(members({1, 1}), {.block_bytes = 4096, .stripe_bytes = 4096}, [&] {
        return Result(test::make_fault_engine(made++ == 0 ? good : bad));
      }).value_or_throw();
  std::vector<std::byte> data(40960);
  ASSERT_TRUE(run(*volume, Direction::kWrite, 0, data).ok());
  bad->fail(Direction::kWrite, EIO);
  const Status status = run(*volume, Direction::kWrite, 0, data);
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find("member1"), std::string::npos) << status.message();
  ASSERT_EQ(volume->complaints().size(), 1U);
  EXPECT_NE(volume->complaints()[0].find("member1: 5 requests failed"), std::string::npos)
      << volume->complaints()[0];
  bad->heal();
  EXPECT_TRUE(run(*volume, Direction::kWrite, 0, data).ok());
}

TEST_F(VolumeTest, BadSettingsAreRefused) {
  EXPECT_EQ(Volume::create({}, {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Volume::create(members({-1}), {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Volume::create(members({1}), {.block_bytes = 0}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Volume::create(members({1}), {.stripe_bytes = 512}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Volume::create(members({1}), {.rings = 0}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Volume::create(members({1}), {.engine = {.queue_depth = 0}}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(VolumeTest, TellsWhatItIs) {
  const auto volume =
      Volume::create(members({3, 1}), {.engine = {.kind = EngineKind::kThreads}}).value_or_throw();
  const std::string text = volume->describe();
  for (const char* part : {"member0 (3 of 4 stripes): threads", "member1 (1 of 4 stripes)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_TRUE(volume->complaints().empty());
}

TEST_F(VolumeTest, PriorityOfAWaitingRequestChanges) {
  const auto control = std::make_shared<test::FaultControl>();
  const auto volume = Volume::create(members({1}), {.block_bytes = 4096}, [&] {
                        return Result(test::make_fault_engine(control));
                      }).value_or_throw();
  std::vector<std::byte> data(40960);
  struct Order {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Request*> done;
  } order;
  std::deque<Request> requests(3);
  control->hold();
  for (Request& request : requests) {
    request.direction = Direction::kWrite;
    request.priority = Priority::kWriteBack;
    request.data = data.data();
    request.size_bytes = data.size();
    request.context = &order;
    request.on_complete = [](Request& done, const Status&) noexcept {
      Order& all = *static_cast<Order*>(done.context);
      const std::lock_guard lock(all.mutex);
      all.done.push_back(&done);
      all.changed.notify_all();
    };
    volume->submit(request);
  }
  control->wait_for_held(7);
  volume->change_priority(requests[2], Priority::kDemand);
  control->resume();
  std::unique_lock lock(order.mutex);
  order.changed.wait(lock, [&] { return order.done.size() == 3; });
  EXPECT_EQ(order.done[0], &requests[2]);
}

}  // namespace
}  // namespace stepwell::io
