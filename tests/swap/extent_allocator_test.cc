#include "swap/extent_allocator.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "stepwell/bytes.h"
#include "swap/extent.h"

namespace stepwell::swap {
namespace {

TEST(ExtentAllocator, AgreesWithABitmapAndComesBackWhole) {
  constexpr std::uint64_t kUnits = 64;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    ExtentAllocator allocator;
    allocator.grow(kUnits * kExtentAlignment);
    std::vector<bool> taken(kUnits, false);
    std::map<std::uint64_t, std::uint64_t> live;  // offset to bytes
    for (int step = 0; step < 500; ++step) {
      if (random() % 2 == 0 || live.empty()) {
        const std::uint64_t bytes = 1 + random() % (9 * kExtentAlignment);
        const auto offset = allocator.allocate(bytes);
        std::uint64_t longest = 0;
        std::uint64_t run = 0;
        for (const bool used : taken) {
          run = used ? 0 : run + 1;
          longest = std::max(longest, run);
        }
        ASSERT_EQ(offset.has_value(), longest >= div_ceil(bytes, kExtentAlignment))
            << "seed " << seed;
        if (offset) {
          live[*offset] = bytes;
          for (std::uint64_t unit = 0; unit < div_ceil(bytes, kExtentAlignment); ++unit) {
            ASSERT_FALSE(taken[*offset / kExtentAlignment + unit]) << "given twice, seed " << seed;
            taken[*offset / kExtentAlignment + unit] = true;
          }
        }
      } else {
        auto chosen = live.begin();
        std::advance(chosen, static_cast<std::ptrdiff_t>(random() % live.size()));
        allocator.release(chosen->first, chosen->second);
        for (std::uint64_t unit = 0; unit < div_ceil(chosen->second, kExtentAlignment); ++unit) {
          taken[chosen->first / kExtentAlignment + unit] = false;
        }
        live.erase(chosen);
      }
    }
    for (const auto& [offset, bytes] : live) {
      allocator.release(offset, bytes);
    }
    EXPECT_EQ(allocator.range_count(), 1U);
    EXPECT_EQ(allocator.free_bytes(), kUnits * kExtentAlignment);
  }
}

}  // namespace
}  // namespace stepwell::swap
