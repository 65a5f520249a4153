#include <atomic>
#include <vector>

#include <gtest/gtest.h>

#include "src/optim/kernels.h"

namespace stepwell::optim {
namespace {

struct Seen {
  std::uint64_t grain;
  std::vector<std::atomic<int>> visits;
  std::atomic<int> wrong{0};
};

void visit(const void* context, std::uint64_t begin, std::uint64_t end) {
  auto& seen = *static_cast<Seen*>(const_cast<void*>(context));
  if (begin % seen.grain != 0 || end <= begin || end - begin > seen.grain) {
    ++seen.wrong;
  }
  for (std::uint64_t i = begin; i < end; ++i) {
    ++seen.visits[i];
  }
}

TEST(ParallelRanges, VisitsEveryElementOnceInPiecesOfTheGrain) {
  for (const std::uint64_t count : {0U, 1U, 15U, 16U, 17U, 160U, 1001U}) {
    Seen seen{16, std::vector<std::atomic<int>>(count)};
    parallel_ranges(count, seen.grain, &seen, visit);
    EXPECT_EQ(seen.wrong, 0);
    for (const std::atomic<int>& visits : seen.visits) {
      ASSERT_EQ(visits, 1);
    }
  }
}

TEST(ParallelRangesDeathTest, RefusesAnEmptyGrain) {
  EXPECT_DEATH(parallel_ranges(1, 0, nullptr, visit), "at least one");
}

}  // namespace
}  // namespace stepwell::optim
