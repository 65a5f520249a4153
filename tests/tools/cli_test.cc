// Runs the program with right and wrong arguments and looks at its exit status, its output, and at
// what it leaves behind.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/format.h"
#include "stepwell/check.h"
#include "tests/support/temporary_folder.h"

namespace stepwell {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kConfig = R"({
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 2,
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-2}},
  "zero_optimization": {
    "stage": 3,
    "offload_param": {"device": "nvme", "nvme_path": "swap"},
    "offload_optimizer": {"device": "nvme", "nvme_path": "swap"},
    "stage3_param_persistence_threshold": 100
  },
  "stepwell": {"memory": {"device_bytes": "128KiB", "host_bytes": "256KiB"},
               "optimizer": {"tile_elements": 4096}}
})";

struct Outcome {
  int status = 0;  // of exit, or -signal
  std::string out;
  std::string err;
};

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() { write("c.json", kConfig); }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_.file(name)) << content;
    return folder_.file(name);
  }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_.file(name)).rdbuf();
    return std::move(text).str();
  }

  /// Starts the program in the folder, its output going to the files out and err there.
  pid_t start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), STEPWELL_PROGRAM);
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder_.path().c_str());
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "out", kFlags, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "err", kFlags, 0600);
    pid_t child = 0;
    const int error =
        posix_spawn(&child, STEPWELL_PROGRAM, &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    STEPWELL_CHECK(error == 0, "cannot start " STEPWELL_PROGRAM);
    return child;
  }
  static bool has_ended(pid_t child) {
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid != 0;
  }
  Outcome wait(pid_t child) const {
    int status = 0;
    STEPWELL_CHECK(waitpid(child, &status, 0) == child, "the program is no child");
    return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
            .out = read("out"),
            .err = read("err")};
  }
  Outcome run(std::vector<std::string> arguments) const {
    return wait(start(std::move(arguments)));
  }
  /// `stepwell train` of a very small model.
  static std::vector<std::string> small(std::vector<std::string> more) {
    std::vector<std::string> arguments{"train",
                                       "--config",
                                       "c.json",
                                       "--layers",
                                       "2",
                                       "--width",
                                       "32",
                                       "--context",
                                       "16",
                                       "--heads",
                                       "2",
                                       "--eval-windows",
                                       "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void expect_no_swap() const {
    EXPECT_FALSE(std::filesystem::exists(folder_.file("swap"))) << "the swap folder was left";
  }
  /// One line on standard error that contains `text`.
  void expect_usage_error(const Outcome& outcome, const std::string& text) const {
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(text));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    expect_no_swap();
  }

  test::TemporaryFolder folder_;
};

TEST_F(ProgramTest, TellsItsVersionAndCommands) {
  const Outcome version = run({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, testing::StartsWith("stepwell "));
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out,
              testing::AllOf(HasSubstr("train"), HasSubstr("doctor"), HasSubstr("config")));
}

TEST_F(ProgramTest, RefusesWrongCommandLines) {
  expect_usage_error(run({}), "a command is needed");
  expect_usage_error(run({"tarin"}), "tarin");
  expect_usage_error(run({"train"}), "--config is required");
  expect_usage_error(run(small({"--stepz", "3"})), "--stepz");
  expect_usage_error(run(small({"--steps", "0"})), "--steps");
  expect_usage_error(run(small({"--steps", "-5"})), "--steps");
  expect_usage_error(run(small({"--seed", "-1"})), "--seed");
  expect_usage_error(run(small({"--lr", "nan"})), "--lr");
  expect_usage_error(run(small({"--device-bytes", "much"})), "--device-bytes");
  expect_usage_error(run(small({"--host-bytes", "-3"})), "--host-bytes");
  expect_usage_error(run({"train", "--config", "c.json", "--width", "33", "--heads", "2"}),
                     "--width 33 is not a multiple of --heads 2");
}

TEST_F(ProgramTest, RefusesWrongFiles) {
  write("short.txt", "abc");
  write("plain.json", R"({"train_batch_size": 1, "optimizer": {"type": "AdamW"}})");
  write("untrained.json", R"({"train_batch_size": 1})");
  write("broken.json", R"({"train_batch_size": 1, "zero_optimisation": {"stage": 3}})");
  expect_usage_error(run({"train", "--config", "none.json"}), "none.json");
  expect_usage_error(run({"train", "--config", "broken.json"}), "zero_optimization");
  expect_usage_error(run({"train", "--config", "untrained.json"}), "\"optimizer\" section");
  expect_usage_error(run({"config", "none.json"}), "none.json");
  expect_usage_error(run(small({"--data", "none.txt"})), "none.txt");
  expect_usage_error(run(small({"--data", "short.txt"})), "has 3 bytes");
  expect_usage_error(run({"train", "--config", "c.json", "--context", "200000"}), "generated sums");
  expect_usage_error(run(small({"--log", "none/log.jsonl"})), "none/log.jsonl");
  expect_usage_error(run(small({"--nvme-path", "none/swap"})), "none does not exist");
  expect_usage_error(run({"train", "--config", "plain.json", "--nvme-path", "swap"}),
                     "offloads nothing");
}

TEST_F(ProgramTest, PrintsTheConfigurationInForce) {
  const Outcome outcome = run({"config", "c.json"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(json::parse(outcome.out)["train_batch_size"], 4);
}

TEST_F(ProgramTest, T22TellsWhatTheMachineCanDo) {
  const Outcome outcome = run({"doctor", "--path", "."});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part : {"io_uring", "threads", "CUDA", "NCCL", "kernels for", "free"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
  EXPECT_EQ(run({"doctor", "--path", "none"}).status, 1);
  // c.json, out, err: the probe file is gone.
  EXPECT_EQ(folder_.entry_count(), 3U);
}

TEST_F(ProgramTest, TrainsLogsAndLeavesNothingBehind) {
  const Outcome outcome = run(small({"--steps",
                                     "4",
                                     "--eval-every",
                                     "2",
                                     "--warmup-steps",
                                     "2",
                                     "--log",
                                     "log.jsonl",
                                     "--json"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json summary = json::parse(outcome.out);
  std::vector<json> lines;
  std::istringstream log(read("log.jsonl"));
  for (std::string line; std::getline(log, line);) {
    lines.push_back(json::parse(line));
  }
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0]["step"], 1);
  EXPECT_EQ(lines[0]["tokens"], 2 * 2 * 16);
  EXPECT_DOUBLE_EQ(lines[0]["lr"], 5e-3);
  EXPECT_GT(lines[0]["nvme_read_bytes"], 0);
  EXPECT_TRUE(lines[1].contains("eval_loss"));
  EXPECT_FALSE(lines[2].contains("eval_loss"));
  EXPECT_EQ(lines[4]["summary"], summary);
  EXPECT_LT(lines[3]["loss"], lines[0]["loss"]);
  EXPECT_EQ(summary["totals"]["steps"], 4);
  EXPECT_EQ(summary["eval_windows"], 4) << "3 windows are two batches of 2";
  EXPECT_LE(summary["memory"]["device"]["peak_bytes"], 128 << 10);
  EXPECT_GT(summary["parameter_bytes"], 0);
  EXPECT_GT(summary["peak_resident_bytes"], 0);
  expect_no_swap();
}

TEST_F(ProgramTest, RepeatsARunBitForBitWhateverTheBudgets) {
  const Outcome small_budget = run(small({"--steps", "3", "--json", "--quiet"}));
  const Outcome large_budget = run(small(
      {"--steps", "3", "--json", "--quiet", "--device-bytes", "64MiB", "--host-bytes", "64MiB"}));
  ASSERT_EQ(small_budget.status, 0) << small_budget.err;
  ASSERT_EQ(large_budget.status, 0) << large_budget.err;
  EXPECT_EQ(small_budget.err, "");
  const json left = json::parse(small_budget.out);
  const json right = json::parse(large_budget.out);
  EXPECT_EQ(left["train_loss"], right["train_loss"]);
  EXPECT_EQ(left["eval_loss"], right["eval_loss"]);
}

TEST_F(ProgramTest, SaysWhenTheBaselineIsNotReached) {
  const Outcome outcome = run(small({"--steps", "1", "--require-below-bigram", "--quiet"}));
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("is not below the bigram baseline"));
  EXPECT_THAT(outcome.out, HasSubstr("held out"));
}

TEST_F(ProgramTest, LogNeverOverwritesWhatTheRunReads) {
  write("text.txt", std::string(5000, 'a'));
  expect_usage_error(run(small({"--data", "text.txt", "--log", "./text.txt"})), "would overwrite");
  expect_usage_error(run(small({"--log", "c.json"})), "would overwrite");
  EXPECT_EQ(read("text.txt").size(), 5000U);
  write("old.jsonl", "kept");
  expect_usage_error(run(small({"--log", "old.jsonl", "--nvme-path", "none/swap"})), "none");
  EXPECT_EQ(read("old.jsonl"), "kept");
}

TEST_F(ProgramTest, SizesAndThreadsHaveBounds) {
  expect_usage_error(run(small({"--device-bytes", "99999999999999999999"})), "--device-bytes");
  expect_usage_error(run(small({"--device-bytes", "00"})), "--device-bytes");
  expect_usage_error(run(small({"--threads", "100000"})), "--threads");
}

/// Closed standard streams: their numbers go to no file of ours, and lost output is a failure.
TEST_F(ProgramTest, ClosedAndFullOutputIsAFailure) {
  const auto status_of = [&](const std::string& rest) {
    const int state = std::system(
        concat("cd '", folder_.path().string(), "' && " STEPWELL_PROGRAM " ", rest).c_str());
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  };
  for (const char* command : {"--version", "--help", "config c.json", "doctor"}) {
    for (const char* to : {" >&- 2>/dev/null", " >/dev/full 2>/dev/null"}) {
      EXPECT_EQ(status_of(concat(command, to)), 1) << command << to;
    }
  }
  EXPECT_EQ(
      status_of("train --config c.json --steps 3 --layers 1 --width 32 --heads 2 --context 16 "
                "--log log.jsonl 2>&- >out"),
      0);
  const std::string log = read("log.jsonl");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 4) << log;
  EXPECT_EQ(log.find("tokens/s"), std::string::npos) << log;
  expect_no_swap();
}

TEST_F(ProgramTest, TwoSignalsDuringTheStartLeaveNothing) {
  for (int round = 0; round < 4; ++round) {
    const pid_t child = start(
        {"train", "--config", "c.json", "--steps", "1000000", "--layers", "200", "--width", "32"});
    while (!std::filesystem::exists(folder_.file("swap")) && !has_ended(child)) {
      sched_yield();
    }
    bool file_there = false;
    while (!file_there && !has_ended(child)) {
      std::error_code gone;
      file_there = !std::filesystem::is_empty(folder_.file("swap"), gone) && !gone;
    }
    kill(child, SIGTERM);
    // The first one was taken when it is answered.
    while (read("err").find("once more") == std::string::npos && !has_ended(child)) {
      sched_yield();
    }
    kill(child, SIGTERM);
    EXPECT_EQ(wait(child).status, 128 + SIGTERM);
    expect_no_swap();
  }
}

TEST_F(ProgramTest, ReportsABudgetThatIsTooSmall) {
  const Outcome outcome = run(small({"--steps", "1", "--quiet", "--device-bytes", "8KiB"}));
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("budget"));
  expect_no_swap();
}

TEST_F(ProgramTest, CleansUpWhenNobodyReadsItsOutput) {
  // The reader of a pipe goes away after the first line.
  const std::string command = concat("cd '",
                                     folder_.path().string(),
                                     "' && (" STEPWELL_PROGRAM
                                     " train --config c.json --steps 1000000 --layers 1 --width 32 "
                                     "2>&1; echo $? > status) | head -n 1 > out");
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read("status"), "1\n");
  expect_no_swap();
}

TEST_F(ProgramTest, EndsAfterTheStepWhenAsked) {
  for (const int number : {SIGINT, SIGTERM}) {
    std::filesystem::remove(folder_.file("log.jsonl"));
    const pid_t child = start(small({"--steps", "1000000", "--log", "log.jsonl"}));
    // Training has begun when the log has a line.
    while (read("log.jsonl").empty() && !has_ended(child)) {
      sched_yield();
    }
    kill(child, number);
    const Outcome outcome = wait(child);
    EXPECT_EQ(outcome.status, 128 + number) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("ended early by signal"));
    EXPECT_THAT(read("log.jsonl"), HasSubstr("\"summary\""));
    expect_no_swap();
  }
}

}  // namespace
}  // namespace stepwell
