#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "src/optim/kernels.h"
#include "tests/optim/kernel_inputs.h"

namespace stepwell::optim {
namespace {

struct State {
  std::vector<float> p, m, v, g;
};

State make_state(Inputs& inputs, std::uint64_t count, std::uint64_t special_every) {
  State state{inputs.floats(count, special_every),
              inputs.floats(count, special_every),
              inputs.floats(count, special_every),
              inputs.floats(count, special_every)};
  if (special_every == 0) {
    for (float& v : state.v) {
      v = v * v;
    }
  }
  return state;
}

/// The documented formula, one rounding a step, in plain float.
void reference_step(const AdamScalars& s, State& state) {
  for (std::size_t i = 0; i < state.p.size(); ++i) {
    volatile float g = state.g[i] * s.grad_scale;
    if (s.l2 != 0.0F) {
      volatile float term = s.l2 * state.p[i];
      g = g + term;
    }
    volatile float m_old = s.beta1 * state.m[i];
    volatile float m_new = s.one_minus_beta1 * g;
    volatile float m = m_old + m_new;
    volatile float v_old = s.beta2 * state.v[i];
    volatile float v_new = s.one_minus_beta2 * g;
    v_new = v_new * g;
    volatile float v = v_old + v_new;
    volatile float d = std::sqrt(v);
    d = d / s.bias2_sqrt;
    d = d + s.eps;
    volatile float kept = state.p[i] * s.decay_factor;
    volatile float step = m / d;
    step = s.step_size * step;
    state.p[i] = kept - step;
    state.m[i] = m;
    state.v[i] = v;
  }
}

void expect_same(const std::vector<float>& actual,
                 const std::vector<float>& expected,
                 const char* what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_TRUE(same(actual[i], expected[i])) << what << "[" << i << "] of " << actual.size()
                                              << ": " << actual[i] << " for " << expected[i];
  }
}

void expect_reference_bits(const Kernels& table,
                           const AdamScalars& scalars,
                           const State& start,
                           std::uint64_t offset) {
  SCOPED_TRACE(to_string(table.instruction_set));
  State expected = start;
  reference_step(scalars, expected);
  Shifted p(start.p, offset % 3), m(start.m, offset % 5), v(start.v, offset % 7);
  Shifted g(start.g, offset % 11);
  table.adam(scalars, p.data(), m.data(), v.data(), g.data(), start.p.size());
  expect_same(p.values(), expected.p, "p");
  expect_same(m.values(), expected.m, "m");
  expect_same(v.values(), expected.v, "v");
  expect_same(g.values(), start.g, "g");
}

TEST(Adam, EverySetGivesTheBitsOfThePlainLoopAtEveryLengthAndAlignment) {
  Inputs inputs(1);
  const std::array options{AdamOptions{.weight_decay = 0.01},
                           AdamOptions{.weight_decay = 0.1, .decoupled = false},
                           AdamOptions{.bias_correction = false}};
  for (std::uint64_t count = 0; count <= 200; ++count) {
    const AdamOptions& option = options[count % options.size()];
    const double scale = count % 4 < 2 ? 1.0 : 0.37;
    const AdamScalars scalars = make_adam_scalars(option, 1 + count, scale);
    const State start = make_state(inputs, count, count % 2 == 0 ? 0 : 5);
    for (const Kernels* table : available_kernels()) {
      expect_reference_bits(*table, scalars, start, inputs.below(1000));
    }
  }
}

TEST(Adam, DoesNotDependOnHowARangeIsCut) {
  Inputs inputs(2);
  const State start = make_state(inputs, 199, 5);
  const AdamScalars scalars = make_adam_scalars({.weight_decay = 0.01}, 3, 1.0);
  State whole = start;
  kernels().adam(scalars, whole.p.data(), whole.m.data(), whole.v.data(), whole.g.data(), 199);
  State cut = start;
  for (std::uint64_t begin = 0, end; begin < 199; begin = end) {
    end = std::min<std::uint64_t>(199, begin + 1 + inputs.below(40));
    kernels().adam(scalars,
                   cut.p.data() + begin,
                   cut.m.data() + begin,
                   cut.v.data() + begin,
                   cut.g.data() + begin,
                   end - begin);
  }
  expect_same(cut.p, whole.p, "p");
  expect_same(cut.m, whole.m, "m");
  expect_same(cut.v, whole.v, "v");
}

/// The textbook form in extended precision: hats, not step sizes.
struct Textbook {
  long double p, m = 0, v = 0;
  void step(const AdamOptions& o, long double g, int t) {
    if (o.decoupled) {
      p -= o.lr * o.weight_decay * p;
    } else {
      g += o.weight_decay * p;
    }
    m = o.beta1 * m + (1.0L - o.beta1) * g;
    v = o.beta2 * v + (1.0L - o.beta2) * g * g;
    const long double m_hat =
        o.bias_correction ? m / (1.0L - std::pow((long double)o.beta1, t)) : m;
    const long double v_hat =
        o.bias_correction ? v / (1.0L - std::pow((long double)o.beta2, t)) : v;
    p -= o.lr * m_hat / (std::sqrt(v_hat) + o.eps);
  }
};

TEST(Adam, FollowsTheTextbookOverManySteps) {
  for (const AdamOptions& options :
       {AdamOptions{.weight_decay = 0.05},
        AdamOptions{.lr = 0.01, .weight_decay = 0.05, .decoupled = false},
        AdamOptions{.lr = 1e-4, .bias_correction = false}}) {
    Inputs inputs(3);
    constexpr std::uint64_t kCount = 37;
    State state{
        inputs.floats(kCount, 0), std::vector<float>(kCount), std::vector<float>(kCount), {}};
    std::vector<Textbook> expected;
    for (const float p : state.p) {
      expected.push_back({.p = static_cast<long double>(p)});
    }
    for (int t = 1; t <= 50; ++t) {
      state.g = inputs.floats(kCount, 0);
      const double scale = 0.5;
      kernels().adam(make_adam_scalars(options, static_cast<std::uint64_t>(t), scale),
                     state.p.data(),
                     state.m.data(),
                     state.v.data(),
                     state.g.data(),
                     kCount);
      for (std::uint64_t i = 0; i < kCount; ++i) {
        expected[i].step(options, 0.5L * static_cast<long double>(state.g[i]), t);
      }
    }
    for (std::uint64_t i = 0; i < kCount; ++i) {
      // 50 steps of a few float roundings each of a number near 1.
      EXPECT_NEAR(state.p[i], static_cast<double>(expected[i].p), 3e-5);
      EXPECT_NEAR(state.m[i], static_cast<double>(expected[i].m), 1e-5);
      EXPECT_NEAR(state.v[i], static_cast<double>(expected[i].v), 1e-5);
    }
  }
}

TEST(Adam, WithoutDecayAnInfiniteWeightStaysAndIsNoNan) {
  const AdamScalars scalars = make_adam_scalars({.weight_decay = 0.0, .decoupled = false}, 1, 1.0);
  for (const Kernels* table : available_kernels()) {
    float p = std::numeric_limits<float>::infinity();
    float m = 0.0F;
    float v = 0.0F;
    const float g = 1.0F;
    table->adam(scalars, &p, &m, &v, &g, 1);
    EXPECT_EQ(p, std::numeric_limits<float>::infinity());
  }
}

TEST(AdamScalars, RoundsEachScalarFromDoubleOnce) {
  const AdamScalars s = make_adam_scalars(
      {.lr = 0.003, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-6, .weight_decay = 0.1}, 7, 0.25);
  EXPECT_EQ(s.beta1, 0.9F);
  EXPECT_EQ(s.one_minus_beta1, static_cast<float>(1.0 - 0.9));
  EXPECT_EQ(s.one_minus_beta2, static_cast<float>(1.0 - 0.999));
  EXPECT_EQ(s.step_size, static_cast<float>(0.003 / (1.0 - std::pow(0.9, 7.0))));
  EXPECT_EQ(s.bias2_sqrt, static_cast<float>(std::sqrt(1.0 - std::pow(0.999, 7.0))));
  EXPECT_EQ(s.decay_factor, static_cast<float>(1.0 - 0.003 * 0.1));
  EXPECT_EQ(s.l2, 0.0F);
  EXPECT_EQ(s.grad_scale, 0.25F);
  const AdamScalars l2 = make_adam_scalars(
      {.weight_decay = 0.1, .decoupled = false, .bias_correction = false}, 7, 1.0);
  EXPECT_EQ(l2.decay_factor, 1.0F);
  EXPECT_EQ(l2.l2, 0.1F);
  EXPECT_EQ(l2.step_size, 1e-3F);
  EXPECT_EQ(l2.bias2_sqrt, 1.0F);
}

TEST(AdamScalarsDeathTest, RefusesStepZero) {
  EXPECT_DEATH(make_adam_scalars({}, 0, 1.0), "from 1");
}

}  // namespace
}  // namespace stepwell::optim
