// What every device promises, run on each: streams, events, copies, memory.
#include <array>
#include <atomic>
#include <cstring>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "src/device/device.h"

namespace stepwell::device {
namespace {

struct Case {
  const char* name;
  Result<std::unique_ptr<Device>> (*make)();
};

Result<std::unique_ptr<Device>> make_unified_cpu() {
  return make_cpu_device(true);
}
Result<std::unique_ptr<Device>> make_separate_cpu() {
  return make_cpu_device(false);
}
Result<std::unique_ptr<Device>> make_first_gpu() {
  return make_cuda_device(0);
}

class DeviceConformance : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Device>> made = GetParam().make();
    if (!made.ok()) {
      ASSERT_EQ(made.status().code(), StatusCode::kUnsupported);
      GTEST_SKIP() << made.status().to_string();
    }
    device_ = std::move(made).value();
    first_ = device_->create_stream();
    second_ = device_->create_stream();
    event_ = device_->create_event();
  }

  /// Keeps `stream` busy until the latch is counted down.
  static void hold(Stream& stream, std::latch& gate) {
    stream.call_async([&gate] { gate.wait(); });
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> first_;
  std::unique_ptr<Stream> second_;
  std::unique_ptr<Event> event_;
};

TEST_P(DeviceConformance, ANewEventHasPassed) {
  EXPECT_TRUE(event_->passed());
  event_->wait();
  first_->order_after(*event_);
  first_->synchronize();
}

TEST_P(DeviceConformance, WorkOfAStreamRunsInTheOrderOfTheCalls) {
  std::vector<int> order;
  for (int i = 0; i < 500; ++i) {
    first_->call_async([&order, i] { order.push_back(i); });
  }
  first_->synchronize();
  ASSERT_EQ(order.size(), 500U);
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST_P(DeviceConformance, AnEventPassesWhenTheWorkBeforeItIsDone) {
  std::latch gate(1);
  bool done = false;
  hold(*first_, gate);
  first_->call_async([&done] { done = true; });
  first_->record(*event_);
  EXPECT_FALSE(event_->passed());
  gate.count_down();
  event_->wait();
  EXPECT_TRUE(event_->passed());
  EXPECT_TRUE(done);
}

TEST_P(DeviceConformance, WorkAfterARecordDoesNotHoldItsEvent) {
  std::latch gate(1);
  first_->record(*event_);
  hold(*first_, gate);
  event_->wait();
  EXPECT_TRUE(event_->passed());
  gate.count_down();
  first_->synchronize();
}

TEST_P(DeviceConformance, RecordingAgainArmsTheEventAgain) {
  first_->record(*event_);
  event_->wait();
  std::latch gate(1);
  hold(*first_, gate);
  first_->record(*event_);
  EXPECT_FALSE(event_->passed());
  gate.count_down();
  event_->wait();
  EXPECT_TRUE(event_->passed());
}

TEST_P(DeviceConformance, OrderAfterHoldsTheOtherStreamAndNotTheCaller) {
  std::latch gate(1);
  hold(*first_, gate);
  first_->record(*event_);
  second_->order_after(*event_);
  const std::unique_ptr<Event> after = device_->create_event();
  second_->record(*after);
  EXPECT_FALSE(after->passed());
  gate.count_down();
  after->wait();
  EXPECT_TRUE(event_->passed());
}

TEST_P(DeviceConformance, OrderAfterMeansTheRecordBeforeItNotALaterOne) {
  std::latch early(1);
  std::latch late(1);
  const std::unique_ptr<Stream> third = device_->create_stream();
  hold(*first_, early);
  first_->record(*event_);
  second_->order_after(*event_);
  hold(*third, late);
  third->record(*event_);
  early.count_down();
  second_->synchronize();  // must not need `late`
  EXPECT_FALSE(event_->passed());
  late.count_down();
  event_->wait();
}

TEST_P(DeviceConformance, TwoStreamsTakeTurnsByEvents) {
  int turns = 0;  // plain: the events alone order the accesses
  const std::unique_ptr<Event> back = device_->create_event();
  for (int round = 0; round < 200; ++round) {
    first_->order_after(*back);
    first_->call_async([&turns, round] { turns += turns == 2 * round ? 1 : 0; });
    first_->record(*event_);
    second_->order_after(*event_);
    second_->call_async([&turns, round] { turns += turns == 2 * round + 1 ? 1 : 0; });
    second_->record(*back);
  }
  back->wait();
  EXPECT_EQ(turns, 400);
}

TEST_P(DeviceConformance, AnEventMayDieBeforeItPasses) {
  std::latch gate(1);
  int value = 0;
  hold(*first_, gate);
  first_->call_async([&value] { value = 7; });
  {
    const std::unique_ptr<Event> brief = device_->create_event();
    first_->record(*brief);
    second_->order_after(*brief);
  }
  int seen = 0;
  second_->call_async([&] { seen = value; });
  gate.count_down();
  second_->synchronize();
  EXPECT_EQ(seen, 7);
}

TEST_P(DeviceConformance, DestroyingAStreamRunsWhatIsQueued) {
  std::latch gate(1);
  int count = 0;
  hold(*first_, gate);
  first_->record(*event_);
  second_->order_after(*event_);
  for (int i = 0; i < 100; ++i) {
    second_->call_async([&count] { ++count; });
  }
  gate.count_down();
  second_.reset();
  EXPECT_EQ(count, 100);
}

TEST_P(DeviceConformance, SeveralThreadsMayUseOneStream) {
  int count = 0;  // plain: one stream runs one call at a time
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        const std::unique_ptr<Event> own = device_->create_event();
        for (int i = 0; i < 50; ++i) {
          first_->call_async([&count] { ++count; });
          first_->record(*own);
        }
        own->wait();
        EXPECT_TRUE(own->passed());
      });
    }
  }
  first_->synchronize();
  EXPECT_EQ(count, 200);
}

TEST_P(DeviceConformance, CopiesGoToTheDeviceAndBack) {
  constexpr std::uint64_t kBytes = 3 * memory::kBlockAlignment;
  std::array<std::byte*, 2> blocks{};
  for (std::byte*& block : blocks) {
    block = device_->memory_source().map(kBytes).value();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % memory::kBlockAlignment, 0U);
  }
  std::vector<std::byte> sent(kBytes);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    sent[i] = static_cast<std::byte>(i * 7 + i / 256);
  }
  std::vector<std::byte> received(kBytes);
  first_->copy_async(blocks[0], sent.data(), kBytes);
  first_->record(*event_);
  second_->order_after(*event_);
  second_->copy_async(blocks[1] + 1, blocks[0], kBytes - 1);
  second_->copy_async(blocks[1], blocks[0] + kBytes - 1, 1);
  second_->copy_async(received.data(), blocks[1], kBytes);
  second_->copy_async(received.data(), blocks[1], 0);
  second_->synchronize();
  EXPECT_EQ(received[0], sent.back());
  EXPECT_EQ(std::memcmp(received.data() + 1, sent.data(), kBytes - 1), 0);
  for (std::byte* block : blocks) {
    device_->memory_source().unmap(block, kBytes);
  }
}

TEST_P(DeviceConformance, ABlockThatIsTooLargeIsAnErrorAndNothingBreaks) {
  constexpr std::uint64_t kTooMuch = std::uint64_t{1} << 52;
  const Result<std::byte*> refused = device_->memory_source().map(kTooMuch);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message(), "");
  first_->record(*event_);
  event_->wait();
  std::byte* block = device_->memory_source().map(memory::kBlockAlignment).value();
  device_->memory_source().unmap(block, memory::kBlockAlignment);
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         DeviceConformance,
                         testing::Values(Case{"cpu_unified", make_unified_cpu},
                                         Case{"cpu_separate", make_separate_cpu},
                                         Case{"cuda", make_first_gpu}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace stepwell::device
