#include "src/zero/sharded_optimizer.h"

#include <bit>
#include <limits>

#include <gtest/gtest.h>

#include "tests/zero/reference_optimizer.h"
#include "tests/zero/zero_bench.h"

namespace stepwell::zero {
namespace {

constexpr std::uint64_t kSizes[] = {1, 100, 16384, 16385, 70'000, 30'000};
constexpr optim::AdamOptions kAdam{.beta1 = 0.8, .weight_decay = 0.01};
constexpr double kClipNorm = 20.0;

/// Bit for bit; says where the first difference is.
void expect_bits(const std::vector<float>& actual,
                 const std::vector<float>& expected,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t at = 0; at < actual.size(); ++at) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(actual[at]), std::bit_cast<std::uint32_t>(expected[at]))
        << what << "[" << at << "]: " << actual[at] << " for " << expected[at];
  }
}

/// The sharded optimizer and the reference, fed with the same.
class Pair {
 public:
  Pair(const Placement& placement, unsigned seed)
      : random_(seed), sharded_(placement), reference_(kAdam, kClipNorm) {
    for (std::size_t index = 0; index < std::size(kSizes); ++index) {
      const ElementType type = index % 2 == 0 ? ElementType::kBfloat16 : ElementType::kFloat32;
      const std::vector<float> weight = random_floats(random_, kSizes[index]);
      sharded_.add(type, weight);
      reference_.add(type, weight);
    }
    throw_if_error(sharded_.make(kAdam, kClipNorm));
  }

  void step(bool overflow) {
    for (std::size_t index = 0; index < std::size(kSizes); ++index) {
      if (random_() % 4 == 0) {
        change_outside(index);
      }
      for (std::uint64_t times = random_() % 3; times > 0; --times) {
        contribute(index, overflow);
      }
    }
    const double lr = 0.001 * static_cast<double>(1 + random_() % 9);
    const Result<StepOutcome> outcome = sharded_.optimizer->step(lr);
    ASSERT_TRUE(outcome.ok()) << outcome.status().to_string();
    const StepOutcome expected = reference_.step(lr);
    ASSERT_EQ(outcome.value().applied, expected.applied);
    if (expected.applied) {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(outcome.value().norm),
                std::bit_cast<std::uint64_t>(expected.norm));
    }
    compare();
  }

 private:
  void contribute(std::size_t index, bool overflow) {
    std::vector<float> gradient = random_floats(random_, kSizes[index]);
    if (overflow && index == 3) {
      gradient[random_() % gradient.size()] = std::numeric_limits<float>::infinity();
    }
    const auto at = static_cast<std::uint32_t>(index);
    if (random_() % 2 == 0) {
      ASSERT_TRUE(sharded_.optimizer->accumulate(at, gradient.data(), ElementType::kFloat32).ok());
    } else {
      std::vector<std::uint16_t> rounded;
      for (float& value : gradient) {
        rounded.push_back(to_bf16(value));
        value = from_bf16(rounded.back());
      }
      ASSERT_TRUE(sharded_.optimizer->accumulate(at, rounded.data(), ElementType::kBfloat16).ok());
    }
    reference_.accumulate(index, gradient);
    ASSERT_EQ(sharded_.optimizer->contributions(at), reference_.parameters[index].contributions);
    expect_bits(sharded_.gradient(index), reference_.parameters[index].gradient, "gradient");
  }

  void change_outside(std::size_t index) {
    ReferenceOptimizer::Parameter& of = reference_.parameters[index];
    const std::size_t at = random_() % of.master.size();
    const float value = static_cast<float>(random_() % 100) / 7.0F;
    sharded_.change(index, [&](std::byte* data) {
      if (of.type == ElementType::kFloat32) {
        of.master[at] = value;
        std::memcpy(data + at * sizeof value, &value, sizeof value);
      } else {
        of.rounded[at] = to_bf16(value);
        std::memcpy(data + at * sizeof of.rounded[at], &of.rounded[at], sizeof of.rounded[at]);
      }
    });
  }

  void compare() {
    for (std::size_t index = 0; index < std::size(kSizes); ++index) {
      const ReferenceOptimizer::Parameter& of = reference_.parameters[index];
      const std::string name = "w" + std::to_string(index);
      std::vector<float> weight = of.master;
      if (of.type == ElementType::kBfloat16) {
        const std::vector<std::byte> bytes = sharded_.weight_bytes(index);
        ASSERT_EQ(std::memcmp(bytes.data(), of.rounded.data(), bytes.size()), 0) << name;
        for (std::size_t at = 0; at < weight.size(); ++at) {
          weight[at] =
              to_bf16(of.master[at]) == of.rounded[at] ? of.master[at] : from_bf16(of.rounded[at]);
        }
      }
      expect_bits(sharded_.weight(index), weight, name);
      expect_bits(sharded_.state(index, StateKind::kExpAvg), of.m, name + " first moment");
      expect_bits(sharded_.state(index, StateKind::kExpAvgSq), of.v, name + " second moment");
      ASSERT_FALSE(testing::Test::HasFatalFailure());
    }
  }

  std::mt19937 random_;
  ZeroBench sharded_;
  ReferenceOptimizer reference_;
};

class Placements : public testing::TestWithParam<Placement> {};

TEST_P(Placements, GiveTheBitsOfAPlainLoop) {
  Pair pair(GetParam(), 3);
  for (int step = 0; step < 4 && !HasFatalFailure(); ++step) {
    SCOPED_TRACE(testing::Message() << "step " << step);
    pair.step(step == 2);
  }
}

// A tile of one norm block has 192 KiB of states and 64 KiB of gradients: 64 blocks; the largest
// weight 35 blocks (bf16, cut into five tiles).
INSTANTIATE_TEST_SUITE_P(
    All,
    Placements,
    testing::Values(
        Placement{"one_tile"},
        Placement{"small_tiles", 16'384},
        Placement{"middle_tiles", 50'000},
        Placement{"host", 16'384, Tier::kHost, Tier::kHost},
        Placement{"nvme_tiny_host", 16'384, Tier::kHost, Tier::kNvme, Tier::kNvme, true, 35, 64},
        Placement{"all_on_nvme_tiny_device",
                  16'384,
                  Tier::kDevice,
                  Tier::kNvme,
                  Tier::kNvme,
                  true,
                  64 + 35,
                  1},
        Placement{
            "own_memory_nvme", 40'000, Tier::kDevice, Tier::kNvme, Tier::kHost, false, 170, 300}),
    [](const testing::TestParamInfo<Placement>& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace stepwell::zero
