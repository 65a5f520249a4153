#include "src/device/cpu_device.h"

#include <memory>
#include <utility>

#include <gtest/gtest.h>

namespace stepwell::device {
namespace {

class ForeignEvent final : public Event {
 public:
  bool passed() const override { return true; }
  void wait() override {}
};

TEST(CpuDevice, SaysWhetherHostAndDeviceMemoryAreOne) {
  EXPECT_TRUE(make_cpu_device()->unified_memory());
  EXPECT_FALSE(make_cpu_device(false)->unified_memory());
  EXPECT_EQ(make_cpu_device()->name(), "cpu");
}

TEST(CpuDevice, FreesWhatACallHoldsWithoutHoldingTheStream) {
  int count = 0;
  CpuStream stream;
  // Its deleter queues more work: a deadlock if the stream's lock were held then.
  std::shared_ptr<int> held(
      &count, [&stream](int* counter) { stream.call_async([counter] { ++*counter; }); });
  stream.call_async([owned = std::move(held)] {});
  stream.synchronize();  // the call above was run and freed, so more work was queued
  stream.synchronize();
  EXPECT_EQ(count, 1);
}

TEST(CpuDeviceDeathTest, RefusesAnEventOfAnotherDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  CpuStream stream;
  ForeignEvent event;
  EXPECT_DEATH(stream.record(event), "event of another device");
  EXPECT_DEATH(stream.order_after(event), "event of another device");
}

}  // namespace
}  // namespace stepwell::device
