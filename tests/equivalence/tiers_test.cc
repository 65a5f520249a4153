// Where bytes live never changes a number: every tier and budget against the run without offload,
// bit for bit.
#include <map>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/equivalence/training_run.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::test {
namespace {

/// Budgets of the device arena. The largest operator of TiedNet is the 192 x 192 layer with its
/// bias: 148,224 bytes in fp32, 37 blocks of weight and one of bias.
enum class Arena { kOneOperator, kMost, kWhole };

std::uint64_t bytes_of(Arena arena, Precision precision) {
  const std::uint64_t operator_bytes = precision == Precision::kFp32 ? 37 * 4096 : 19 * 4096;
  switch (arena) {
    case Arena::kOneOperator:
      return operator_bytes;
    case Arena::kMost:
      return operator_bytes + operator_bytes / 3;
    case Arena::kWhole:
      return 8 << 20;
  }
  return 0;
}

const RunResult& run_without_offload(Precision precision,
                                     std::uint64_t accumulation,
                                     double clipping) {
  static std::map<std::tuple<Precision, std::uint64_t, double>, RunResult> results;
  const auto key = std::tuple(precision, accumulation, clipping);
  auto found = results.find(key);
  if (found == results.end()) {
    found =
        results
            .emplace(
                key,
                train({.precision = precision, .accumulation = accumulation, .clipping = clipping}))
            .first;
  }
  return found->second;
}

using TierCase = std::tuple<OffloadDevice, OffloadDevice, Arena, Precision, std::uint64_t, double>;

class Tiers : public testing::TestWithParam<TierCase> {};

TEST_P(Tiers, AreBitEqualToNoOffload) {
  const auto& [parameters, optimizer, arena, precision, accumulation, clipping] = GetParam();
  const TemporaryFolder folder;
  RunOptions options{.parameters = parameters,
                     .optimizer = optimizer,
                     .precision = precision,
                     .accumulation = accumulation,
                     .clipping = clipping,
                     .folder = folder.path().string()};
  if (parameters != OffloadDevice::kNone && optimizer != OffloadDevice::kNone) {
    options.device_bytes = bytes_of(arena, precision);
  }
  if (optimizer == OffloadDevice::kNvme && parameters != OffloadDevice::kCpu) {
    // One tile of states and its gradients at once.
    options.host_bytes =
        (arena == Arena::kWhole ? 16 : 4) * options.tile_elements * sizeof(float) + 65536;
  }
  const RunResult result = train(options);
  expect_equal(result, run_without_offload(precision, accumulation, clipping));
  if (parameters == OffloadDevice::kNvme && arena != Arena::kWhole &&
      optimizer != OffloadDevice::kNone) {
    EXPECT_GT(result.report.nvme_read_bytes, 0U) << "the case did not page";
  }
  EXPECT_EQ(folder.entry_count(), 0U) << "a swap file was left behind";
}

INSTANTIATE_TEST_SUITE_P(
    Matrix,
    Tiers,
    testing::Combine(
        testing::Values(OffloadDevice::kNone, OffloadDevice::kCpu, OffloadDevice::kNvme),
        testing::Values(OffloadDevice::kNone, OffloadDevice::kCpu, OffloadDevice::kNvme),
        testing::Values(Arena::kOneOperator, Arena::kMost, Arena::kWhole),
        testing::Values(Precision::kFp32, Precision::kBf16),
        testing::Values(1, 4),
        testing::Values(0.0, 0.5)));

TEST(TierVariants, DeferredConstructionGivesTheSameNumbers) {
  const TemporaryFolder folder;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    const RunResult result = train({.parameters = OffloadDevice::kNvme,
                                    .optimizer = OffloadDevice::kNvme,
                                    .precision = precision,
                                    .device_bytes = 60 * 4096,
                                    .deferred_construction = true,
                                    .folder = folder.path().string()});
    expect_equal(result, run_without_offload(precision, 1, 0.0));
  }
}

TEST(TierVariants, DeviceWithMemoryOfItsOwnGivesTheSameNumbers) {
  const TemporaryFolder folder;
  for (const OffloadDevice home : {OffloadDevice::kCpu, OffloadDevice::kNvme}) {
    const RunResult result = train({.parameters = home,
                                    .optimizer = home,
                                    .device_bytes = bytes_of(Arena::kOneOperator, Precision::kFp32),
                                    .unified_memory = false,
                                    .folder = folder.path().string()});
    expect_equal(result, run_without_offload(Precision::kFp32, 1, 0.0));
    EXPECT_GT(result.report.host_to_device_bytes, 0U);
  }
}

TEST(TierVariants, StagingMakesRoomOnAHostThatIsFullOfStates) {
  // Pages of a device with memory of its own pass through the host, which here is full of optimizer
  // states.
  const TemporaryFolder folder;
  RunOptions options{.parameters = OffloadDevice::kNvme,
                     .optimizer = OffloadDevice::kNvme,
                     .device_bytes = bytes_of(Arena::kOneOperator, Precision::kFp32),
                     .unified_memory = false,
                     .folder = folder.path().string()};
  options.host_bytes = 5 * options.tile_elements * sizeof(float);
  expect_equal(train(options), run_without_offload(Precision::kFp32, 1, 0.0));
}

TEST(TierVariants, PrefetchAndTileSizeDoNotChangeNumbers) {
  const TemporaryFolder folder;
  for (const std::uint64_t prefetch : {0ULL, 20'000ULL, 50'000'000ULL}) {
    for (const std::uint64_t tile : {1ULL, 16384ULL, 1'000'000ULL}) {
      const RunResult result = train({.parameters = OffloadDevice::kNvme,
                                      .optimizer = OffloadDevice::kNvme,
                                      .clipping = 0.5,
                                      .device_bytes = bytes_of(Arena::kMost, Precision::kFp32),
                                      .tile_elements = tile,
                                      .prefetch_elements = prefetch,
                                      .folder = folder.path().string()});
      expect_equal(result, run_without_offload(Precision::kFp32, 1, 0.5));
    }
  }
}

}  // namespace
}  // namespace stepwell::test
