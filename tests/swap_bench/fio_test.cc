#include "tools/swap_bench/fio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tools/swap_bench/compare.h"

namespace stepwell::swap_bench {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

TEST(Fio, ItsCommandLineAsksForTheSameJob) {
  const std::vector<std::string> arguments = fio_arguments({.path = "/disk/a:b",
                                                            .size_bytes = 1048576,
                                                            .workload = Workload::kMixed,
                                                            .engine = io::EngineKind::kLibaio,
                                                            .block_bytes = 4096,
                                                            .queue_depth = 7,
                                                            .registered = true});
  EXPECT_THAT(arguments,
              AllOf(Contains("--filename=/disk/a\\:b"),
                    Contains("--rw=rw"),
                    Contains("--ioengine=libaio"),
                    Contains("--bs=4096"),
                    Contains("--iodepth=7"),
                    Contains("--direct=1")));
  EXPECT_THAT(arguments, testing::Not(Contains("--fixedbufs=1"))) << "libaio has none";
}

TEST(Fio, ItsRatesAreRead) {
  const auto rates = parse_fio(
      "fio: a warning\n"
      R"({"jobs": [{"read": {"bw_bytes": 1000}, "write": {"bw_bytes": 500}}]})");
  ASSERT_TRUE(rates.ok());
  EXPECT_EQ(rates.value().read, 1000);
  EXPECT_EQ(rates.value().total(), 1500);
}

TEST(Fio, WrongOutputIsAnError) {
  for (const char* text : {"", "fio: failed", "{", "{}", R"({"jobs": []})", R"({"jobs": [1]})"}) {
    EXPECT_FALSE(parse_fio(text).ok()) << text;
  }
}

TEST(Fio, AContenderThatFailsSaysWhy) {
  if (const Status there = check_fio(); !there.ok()) {
    GTEST_SKIP() << there.message();
  }
  const Result<Rates> rates =
      run_fio({.path = "/proc/none/none", .size_bytes = 4096, .block_bytes = 4096});
  ASSERT_FALSE(rates.ok());
  EXPECT_THAT(rates.status().message(), HasSubstr("fio ended with status"));
}

TEST(Fio, BothSidesAreMeasuredOnOneFile) {
  if (const Status there = check_fio(); !there.ok()) {
    GTEST_SKIP() << there.message();
  }
  const test::TemporaryFolder folder;
  Buffers buffers;
  Progress progress(false);
  const auto files = TestFiles::create(
      {.folders = {folder.path().string()}, .size_bytes = 4 * kMiB}, buffers, progress);
  ASSERT_TRUE(files.ok()) << files.status().to_string();
  const Result<Comparison> compared = compare(files.value(),
                                              buffers,
                                              {.workload = Workload::kRead,
                                               .block_bytes = 128 * kKiB,
                                               .queue_depth = 4,
                                               .rounds = 2,
                                               .duration = std::chrono::milliseconds(50)});
  ASSERT_TRUE(compared.ok()) << compared.status().to_string();
  EXPECT_EQ(compared.value().ours.rates.size(), 2U);
  EXPECT_GT(compared.value().ratio_to("fio"), 0) << table_of({compared.value()});
  EXPECT_EQ(compared.value().ratio_to("nobody"), 0);
}

}  // namespace
}  // namespace stepwell::swap_bench
