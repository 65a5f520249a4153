#include "tools/swap_bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace stepwell::swap_bench {
namespace {

using std::chrono::nanoseconds;
using testing::HasSubstr;

Row measured_row() {
  Row row{.workload = Workload::kRead, .setting = {.block_bytes = 1 << 20}};
  row.measured = Measurement{.workload = Workload::kRead, .setting = row.setting, .seconds = 2};
  row.measured->read_bytes = std::uint64_t{4} << 30;
  row.measured->cpu_seconds = 2;
  row.measured->read_calls.latency = {.count = 3, .p50 = nanoseconds(1500)};
  row.measured->engine.effective = io::EngineKind::kUring;
  row.measured->engine.refusals = {"registered buffers: no"};
  return row;
}

TEST(Report, DurationsHaveThreeDigits) {
  EXPECT_EQ(format_duration(nanoseconds(0)), "0 ns");
  EXPECT_EQ(format_duration(nanoseconds(999)), "999 ns");
  EXPECT_EQ(format_duration(nanoseconds(1500)), "1.50 us");
  EXPECT_EQ(format_duration(nanoseconds(12'340'000)), "12.3 ms");
  EXPECT_EQ(format_duration(nanoseconds(123'400'000)), "123 ms");
  EXPECT_EQ(format_duration(std::chrono::seconds(5000)), "5000 s");
}

TEST(Report, TheTableHasRatesReasonsAndTheEngine) {
  Row failed{.workload = Workload::kWrite,
             .failure = {StatusCode::kUnsupported, "libaio is not there"}};
  const std::string table = table_of({measured_row(), failed});
  EXPECT_THAT(table, HasSubstr("2 GiB/s"));
  EXPECT_THAT(table, HasSubstr("0.500"));
  EXPECT_THAT(table, HasSubstr("not measured: libaio is not there"));
  EXPECT_THAT(table, HasSubstr("not used: registered buffers: no"));
}

TEST(Report, TheJsonHasBothLatencies) {
  const auto json = json_of(std::vector{measured_row()});
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["bytes_per_second"], 2.0 * (1 << 30));
  EXPECT_EQ(json[0]["latency"]["read"]["device"]["p50_ns"], 1500);
  EXPECT_EQ(json[0]["latency"]["read"]["request"]["count"], 0);
  EXPECT_EQ(json[0]["engine_report"]["effective"], "io_uring");
  EXPECT_EQ(json[0]["cpu_seconds_per_gib"], 0.5);
}

TEST(Report, AFileThatCannotBeWrittenIsAnError) {
  const test::TemporaryFolder folder;
  EXPECT_TRUE(write_text(folder.file("a.json"), "{}").ok());
  const Status failed = write_text(folder.file("none/a.json"), "{}");
  EXPECT_EQ(failed.code(), StatusCode::kNotFound);
  EXPECT_THAT(failed.message(), HasSubstr("none/a.json"));
}

}  // namespace
}  // namespace stepwell::swap_bench
