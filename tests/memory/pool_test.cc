#include "stepwell/memory/pool.h"

#include <vector>

#include <gtest/gtest.h>

#include "stepwell/bytes.h"

namespace stepwell::memory {
namespace {

TEST(Budget, RefusesWithEveryNumberAndTheKey) {
  Budget budget("device", 64 * kKiB);
  const Reservation held = budget.reserve(60 * kKiB, Holder::kParameters).value();
  const Status status = budget.reserve(8 * kKiB, Holder::kGradients).status();
  EXPECT_EQ(status.code(), StatusCode::kBudgetExceeded);
  for (const char* part :
       {"8 KiB", "64 KiB", "60 KiB", "parameters 60 KiB", "stepwell.memory.device_bytes"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << part << " in " << status.message();
  }
  EXPECT_EQ(budget.available_bytes(), 4 * kKiB);
}

class PoolTest : public testing::Test {
 protected:
  std::unique_ptr<Source> source_ = make_host_source(false);
  Budget budget_{"host", 16 * kBlockAlignment};
  Pool pool_{budget_, *source_};
};

TEST_F(PoolTest, BlocksAreExactAlignedAndReused) {
  Block block = pool_.allocate(5 * kBlockAlignment - 3, Holder::kOther).value();
  EXPECT_EQ(block.capacity_bytes(), 5 * kBlockAlignment) << "no rounding to a power of two";
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % kBlockAlignment, 0U);
  std::byte* const first = block.data();
  block.release();
  EXPECT_EQ(pool_.kept_bytes(), 5 * kBlockAlignment);
  EXPECT_EQ(pool_.allocate(5 * kBlockAlignment, Holder::kOther).value().data(), first);
}

TEST_F(PoolTest, KeptBlocksGiveWayToOtherSizes) {
  { const Block kept = pool_.allocate(12 * kBlockAlignment, Holder::kOther).value(); }
  EXPECT_TRUE(pool_.has_room(16 * kBlockAlignment));
  const Block large = pool_.allocate(16 * kBlockAlignment, Holder::kOther).value();
  EXPECT_EQ(pool_.kept_bytes(), 0U);
  EXPECT_EQ(pool_.allocate(1, Holder::kOther).status().code(), StatusCode::kBudgetExceeded);
}

TEST_F(PoolTest, AdoptMovesTheAccountAndKeepsTheBytes) {
  Budget other_budget("device", 4 * kBlockAlignment);
  Pool other(other_budget, *source_);
  Block block = pool_.allocate(4 * kBlockAlignment, Holder::kParameters).value();
  block.data()[7] = std::byte{42};
  ASSERT_TRUE(other.adopt(block, Holder::kParameters).ok());
  EXPECT_EQ(pool_.live_bytes(), 0U);
  EXPECT_EQ(other.live_bytes(), 4 * kBlockAlignment);
  EXPECT_EQ(block.data()[7], std::byte{42});
  Block second = pool_.allocate(kBlockAlignment, Holder::kOther).value();
  EXPECT_EQ(other.adopt(second, Holder::kOther).code(), StatusCode::kBudgetExceeded);
  EXPECT_EQ(pool_.live_bytes(), kBlockAlignment) << "unchanged on failure";
}

}  // namespace
}  // namespace stepwell::memory
