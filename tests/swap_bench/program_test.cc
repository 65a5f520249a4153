// The program, run as a user runs it.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/format.h"
#include "stepwell/check.h"
#include "stepwell/config.h"
#include "tests/support/temporary_folder.h"
#include "tools/swap_bench/subprocess.h"

namespace stepwell::swap_bench {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class SwapBenchTest : public testing::Test {
 protected:
  static ProcessOutcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), STEPWELL_SWAP_BENCH);
    const Result<ProcessOutcome> outcome = run_process(arguments);
    STEPWELL_CHECK(outcome.ok(), outcome.status().to_string());
    return outcome.value();
  }
  /// `command` on small files in the folder.
  ProcessOutcome run_small(const std::string& command, std::vector<std::string> more) const {
    std::vector<std::string> arguments{command, "--path", path(), "--size", "4M"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  static void expect_usage_error(const ProcessOutcome& outcome, const std::string& text) {
    EXPECT_EQ(outcome.status, 2) << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr(text));
    EXPECT_EQ(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 1) << outcome.errors;
    EXPECT_EQ(outcome.output, "");
  }
  std::string path() const { return folder_.path().string(); }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_.file(name)).rdbuf();
    return std::move(text).str();
  }

  test::TemporaryFolder folder_;
};

TEST_F(SwapBenchTest, TellsItsVersionAndCommands) {
  EXPECT_THAT(run({"--version"}).output, testing::StartsWith("swap-bench "));
  EXPECT_THAT(run({"--help"}).output,
              AllOf(HasSubstr("run"), HasSubstr("tune"), HasSubstr("fio"), HasSubstr("verify")));
  for (const char* command : {"run", "tune", "fio", "verify"}) {
    const ProcessOutcome help = run({command, "--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.output, HasSubstr("--path"));
  }
}

TEST_F(SwapBenchTest, RefusesWrongCommandLines) {
  expect_usage_error(run({}), "a command is needed");
  expect_usage_error(run({"runn"}), "runn");
  expect_usage_error(run({"run"}), "--path is required");
  expect_usage_error(run_small("run", {"--block-size", "1000"}), "multiple of 4K");
  expect_usage_error(run_small("run", {"--queue-depth", "0"}), "from 1 to 4096");
  expect_usage_error(run_small("run", {"--threads", "1,x"}), "'x' is no whole number");
  expect_usage_error(run_small("run", {"--engine", "spdk"}), "spdk");
  expect_usage_error(run_small("run", {"--workload", "all"}), "layer-walk");
  expect_usage_error(run_small("run", {"--seconds", "-1"}), "--seconds");
  expect_usage_error(run_small("fio", {"--workload", "layer-walk"}), "fio knows no layer-walk");
  expect_usage_error(run_small("tune", {"--plot", "plot.png"}), "only .svg");
  expect_usage_error(run_small("tune", {"--engine", "auto"}), "auto");
  expect_usage_error(run_small("verify", {"--seed", "-1"}), "--seed");
}

TEST_F(SwapBenchTest, RefusesWrongFolders) {
  EXPECT_EQ(run({"run", "--path", folder_.file("none")}).status, 1);
  const ProcessOutcome full = run({"run", "--path", path(), "--size", "1024T"});
  EXPECT_EQ(full.status, 1);
  EXPECT_THAT(full.errors, AllOf(HasSubstr("are needed"), HasSubstr("are free")));
  EXPECT_EQ(folder_.entry_count(), 0U);
}

TEST_F(SwapBenchTest, MeasuresAndLeavesNothingBehind) {
  const ProcessOutcome outcome = run_small("run",
                                           {"--seconds",
                                            "0.05",
                                            "--block-size",
                                            "64K",
                                            "--layer-bytes",
                                            "1M",
                                            "--engine",
                                            "auto,threads",
                                            "--json",
                                            "--output",
                                            folder_.file("out.json")});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  const json report = json::parse(outcome.output);
  EXPECT_EQ(report, json::parse(read("out.json")));
  EXPECT_EQ(report["access"], "direct");
  EXPECT_EQ(report["paths"][0]["size_bytes"], 4 << 20);
  EXPECT_GT(report["bytes_written"], 4 << 20);
  ASSERT_EQ(report["results"].size(), 8U);
  for (const json& result : report["results"]) {
    EXPECT_GT(result["bytes_per_second"], 0) << result;
    EXPECT_TRUE(result["latency"]["read"]["request"].contains("p999_ns")) << result;
    EXPECT_TRUE(result["engine_report"].contains("refusals")) << result;
  }
  EXPECT_THAT(outcome.errors, HasSubstr("wears flash"));
  EXPECT_EQ(folder_.entry_count(), 1U) << "out.json only";
}

TEST_F(SwapBenchTest, G23FailsWhenASettingCannotBeMeasured) {
  const ProcessOutcome outcome =
      run_small("run", {"--seconds", "0.02", "--workload", "read", "--block-size", "1M,8M"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("larger --size"));
  EXPECT_THAT(outcome.output, HasSubstr("not measured"));
}

TEST_F(SwapBenchTest, T26G5TunesIntoAConfiguration) {
  const ProcessOutcome outcome = run_small("tune",
                                           {"--seconds",
                                            "2",
                                            "--engine",
                                            "threads",
                                            "--output",
                                            folder_.file("aio.json"),
                                            "--plot",
                                            folder_.file("plot.svg")});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  const json tuned = json::parse(read("aio.json"));
  EXPECT_TRUE(tuned["aio"]["block_size"].is_number_integer());
  EXPECT_TRUE(tuned["aio"]["queue_depth"].is_number_integer());
  EXPECT_TRUE(tuned["aio"]["intra_op_parallelism"].is_number_integer());
  EXPECT_EQ(tuned["stepwell"]["io"]["engine"], "threads");
  EXPECT_EQ(tuned["stepwell"]["io"]["devices"][0]["path"], path());
  EXPECT_GT(tuned["stepwell"]["io"]["devices"][0]["read_bytes_per_second"], 0);
  EXPECT_THAT(read("plot.svg"), HasSubstr("</svg>"));
  json whole = tuned;
  whole["train_batch_size"] = 1;
  const Result<Config> config = Config::parse(whole.dump());
  ASSERT_TRUE(config.ok()) << config.status().to_string();
  EXPECT_EQ(config.value().stepwell.io_devices.at(0).path, path());
  EXPECT_EQ(config.value().aio.block_size_bytes, tuned["aio"]["block_size"].get<std::uint64_t>());
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.errors, HasSubstr("read + write"));
  EXPECT_EQ(folder_.entry_count(), 2U);
}

TEST_F(SwapBenchTest, Verifies) {
  const ProcessOutcome outcome = run_small("verify", {"--seconds", "0.2", "--seed", "7"});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("direct: right"), HasSubstr("buffered: right"), HasSubstr("seed 7")));
  EXPECT_EQ(folder_.entry_count(), 0U);
}

TEST_F(SwapBenchTest, SaysThatFioIsMissing) {
  const ProcessOutcome outcome =
      run_process({"env", "PATH=/nowhere", STEPWELL_SWAP_BENCH, "fio", "--path", path()}).value();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("apt-get install fio"));
}

TEST_F(SwapBenchTest, RemovesItsFilesWhenAsked) {
  for (const int number : {SIGINT, SIGTERM}) {
    const std::string folder = path();
    const char* const argv[] = {STEPWELL_SWAP_BENCH,
                                "run",
                                "--path",
                                folder.c_str(),
                                "--size",
                                "4M",
                                "--seconds",
                                "600",
                                nullptr};
    pid_t child = 0;
    ASSERT_EQ(posix_spawn(&child,
                          STEPWELL_SWAP_BENCH,
                          nullptr,
                          nullptr,
                          const_cast<char* const*>(argv),  // NOLINT: as POSIX has it
                          environ),
              0);
    while (folder_.entry_count() == 0) {
      sched_yield();
    }
    kill(child, number);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 128 + number);
    EXPECT_EQ(folder_.entry_count(), 0U);
  }
}

}  // namespace
}  // namespace stepwell::swap_bench
