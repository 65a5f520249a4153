#include "src/optim/kernels.h"

#include <array>

#include <gtest/gtest.h>

#include "tests/optim/kernel_inputs.h"

namespace stepwell::optim {
namespace {

TEST(Kernels, ChoosesTheWidestSetOfTheMachine) {
  EXPECT_NE(kernels_for(InstructionSet::kScalar), nullptr);
  EXPECT_EQ(&kernels(), available_kernels().back());
  for (const Kernels* table : available_kernels()) {
    EXPECT_EQ(kernels_for(table->instruction_set), table);
    std::printf("available: %s\n", to_string(table->instruction_set));
  }
}

double reference_sum(const std::vector<float>& values) {
  std::array<double, 8> lanes{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = values[i];
    volatile double square = x * x;
    lanes[i % 8] += square;
  }
  double sum = 0.0;
  for (const double lane : lanes) {
    sum += lane;
  }
  return sum;
}

bool same_sum(double left, double right) {
  return (std::isnan(left) && std::isnan(right)) ||
         std::bit_cast<std::uint64_t>(left) == std::bit_cast<std::uint64_t>(right);
}

struct Case {
  std::vector<float> destination, source;
  bool add;

  std::vector<float> expected() const {
    std::vector<float> result = source;
    for (std::size_t i = 0; add && i < result.size(); ++i) {
      result[i] = destination[i] + source[i];
    }
    return result;
  }
};

template <class Source>
void expect_accumulated(double (*accumulate)(float*, const Source*, std::uint64_t, bool),
                        const Case& test,
                        const std::vector<Source>& source,
                        Inputs& inputs) {
  const std::vector<float> expected = test.expected();
  Shifted to(test.destination, inputs.below(16));
  Shifted from(source, inputs.below(16));
  const double sum = accumulate(to.data(), from.data(), source.size(), test.add);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(same(to.data()[i], expected[i])) << i << " of " << expected.size();
  }
  ASSERT_TRUE(same_sum(sum, reference_sum(expected)))
      << sum << " for " << reference_sum(expected) << " at " << expected.size();
}

TEST(Accumulate, EverySetGivesTheBitsAndTheSumOfThePlainLoopAtEveryLength) {
  Inputs inputs(21);
  for (std::uint64_t count = 0; count <= 200; ++count) {
    for (const bool add : {false, true}) {
      const std::uint64_t special = count % 3 == 0 ? 50 : 0;
      Case test{inputs.floats(count, special), inputs.floats(count, special), add};
      for (const Kernels* table : available_kernels()) {
        expect_accumulated(table->accumulate_f32, test, test.source, inputs);
      }
      std::vector<BFloat16> narrow(count);
      kernels_for(InstructionSet::kScalar)->f32_to_bf16(narrow.data(), test.source.data(), count);
      kernels_for(InstructionSet::kScalar)->bf16_to_f32(test.source.data(), narrow.data(), count);
      for (const Kernels* table : available_kernels()) {
        expect_accumulated(table->accumulate_bf16, test, narrow, inputs);
      }
    }
  }
}

TEST(Accumulate, SquaresAreFormedInDouble) {
  // 3e30 squared is infinite in float and 9e60 in double.
  for (const Kernels* table : available_kernels()) {
    std::vector<float> to(40, 0.0F);
    const std::vector<float> from(40, 3e30F);
    EXPECT_DOUBLE_EQ(table->accumulate_f32(to.data(), from.data(), 40, true),
                     40.0 * static_cast<double>(3e30F) * static_cast<double>(3e30F));
  }
}

TEST(Accumulate, StoringIgnoresWhatWasThere) {
  for (const Kernels* table : available_kernels()) {
    std::vector<float> to(33, std::numeric_limits<float>::quiet_NaN());
    const std::vector<float> from(33, 2.0F);
    EXPECT_EQ(table->accumulate_f32(to.data(), from.data(), 33, false), 33.0 * 4.0);
    EXPECT_EQ(to, from);
  }
}

}  // namespace
}  // namespace stepwell::optim
