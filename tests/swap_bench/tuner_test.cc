// The tuner on disks that are formulas, under a clock that is a number.
#include "tools/swap_bench/tuner.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/swap_bench/random_bytes.h"

namespace stepwell::swap_bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

class TunerTest : public testing::Test {
 protected:
  using Formula = std::function<Result<Rates>(const Setting&)>;

  Result<Tuned> run(const Formula& formula, TunerOptions options = {}) {
    return tune(
        options,
        [&](const Setting& setting) {
          time_ += slice_;
          ++slices_;
          return formula(setting);
        },
        [&] { return time_; });
  }

  /// Falls by a tenth for each factor of two from the optimum, with noise of +-2 %.
  Formula planted(Setting optimum) {
    return [this, optimum](const Setting& setting) -> Result<Rates> {
      const auto distance = [](auto one, auto other) {
        return std::abs(std::log2(static_cast<double>(one) / static_cast<double>(other)));
      };
      double rate = 2e9;
      rate *= std::pow(0.9, distance(setting.block_bytes, optimum.block_bytes));
      rate *= std::pow(0.9, distance(setting.queue_depth, optimum.queue_depth));
      rate *= std::pow(0.9, distance(setting.threads, optimum.threads));
      rate *= setting.engine == optimum.engine ? 1 : 0.7;
      rate *= 0.98 + 0.04 * static_cast<double>(random_.below(1000)) / 1000;
      return Rates{.read = rate / 2, .write = rate / 2};
    };
  }

  nanoseconds time_{0};
  nanoseconds slice_ = milliseconds(400);
  int slices_ = 0;
  Random random_{1};
};

TEST_F(TunerTest, FindsAPlantedOptimum) {
  for (const Setting optimum : {Setting{io::EngineKind::kUring, 2 * kMiB, 16, 1},
                                Setting{io::EngineKind::kLibaio, 256 * kKiB, 64, 4},
                                Setting{io::EngineKind::kUring, 4 * kMiB, 4, 2}}) {
    time_ = nanoseconds(0);
    const Result<Tuned> tuned =
        run(planted(optimum), {.engines = {io::EngineKind::kUring, io::EngineKind::kLibaio}});
    ASSERT_TRUE(tuned.ok()) << tuned.status().to_string();
    EXPECT_EQ(tuned.value().best, optimum) << tuned.value().best.to_string();
    EXPECT_LE(time_, std::chrono::seconds(60));
  }
}

TEST_F(TunerTest, StopsEarlyWhenNothingMatters) {
  const Result<Tuned> tuned =
      run([](const Setting&) -> Result<Rates> { return Rates{.read = 1e9, .write = 1e9}; });
  ASSERT_TRUE(tuned.ok());
  EXPECT_TRUE(tuned.value().settled);
  EXPECT_LT(time_, std::chrono::seconds(30));
  // Of equals the one that takes the least memory.
  EXPECT_EQ(tuned.value().best.block_bytes * tuned.value().best.queue_depth, [&] {
    std::uint64_t least = UINT64_MAX;
    for (const Trial& trial : tuned.value().trials) {
      least = std::min(least, trial.setting.block_bytes * trial.setting.queue_depth);
    }
    return least;
  }());
}

TEST_F(TunerTest, DropsWhatIsClearlyWorseAfterOneSlice) {
  const Result<Tuned> tuned = run([](const Setting& setting) -> Result<Rates> {
    return Rates{.read = setting.block_bytes == 128 * kKiB ? 1e8 : 1e9};
  });
  ASSERT_TRUE(tuned.ok());
  for (const Trial& trial : tuned.value().trials) {
    if (trial.setting.block_bytes == 128 * kKiB) {
      EXPECT_EQ(trial.samples.size(), 1U) << trial.setting.to_string();
    }
  }
}

TEST_F(TunerTest, KeepsItsTime) {
  slice_ = std::chrono::seconds(1);
  const Result<Tuned> tuned =
      run(planted({io::EngineKind::kUring, 2 * kMiB, 16, 1}), {.budget = std::chrono::seconds(5)});
  ASSERT_TRUE(tuned.ok());
  EXPECT_TRUE(tuned.value().out_of_time);
  EXPECT_FALSE(tuned.value().settled);
  EXPECT_EQ(slices_, 5);
  EXPECT_EQ(run(planted({}), {.budget = nanoseconds(-1)}).status().code(),
            StatusCode::kInvalidArgument)
      << "no time at all";
}

TEST_F(TunerTest, GoesOnWithoutWhatFails) {
  const Formula disk = planted({io::EngineKind::kUring, kMiB, 32, 1});
  const Result<Tuned> tuned = run(
      [&](const Setting& setting) -> Result<Rates> {
        if (setting.engine == io::EngineKind::kLibaio) {
          return Status(StatusCode::kUnsupported, "libaio is not there");
        }
        return disk(setting);
      },
      {.engines = {io::EngineKind::kLibaio, io::EngineKind::kUring}});
  ASSERT_TRUE(tuned.ok());
  EXPECT_EQ(tuned.value().best.engine, io::EngineKind::kUring);
  EXPECT_EQ(tuned.value().trials[0].failure, "libaio is not there");
}

TEST_F(TunerTest, SaysWhyNothingCouldBeMeasured) {
  const Result<Tuned> tuned = run(
      [](const Setting&) -> Result<Rates> { return Status(StatusCode::kIo, "the disk is gone"); });
  EXPECT_EQ(tuned.status().message(), "the disk is gone");
}

TEST_F(TunerTest, EndsWhenCancelled) {
  const Result<Tuned> tuned = run([&](const Setting&) -> Result<Rates> {
    if (slices_ > 3) {
      return Status(StatusCode::kCancelled, "a signal");
    }
    return Rates{.read = 1};
  });
  EXPECT_EQ(tuned.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(slices_, 4);
}

}  // namespace
}  // namespace stepwell::swap_bench
