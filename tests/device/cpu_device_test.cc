#include "src/device/cpu_device.h"

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

TEST(CpuDevice, FreesWhatACallHoldsBeforeTheNextOneRuns) {
  const auto held = std::make_shared<int>(1);
  long during = 0;
  CpuStream stream;
  stream.call_async([copy = held] {});
  stream.call_async([&] { during = held.use_count(); });
  stream.synchronize();
  EXPECT_EQ(during, 1);
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
