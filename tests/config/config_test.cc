#include "stepwell/config.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace stepwell {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Config parsed(const std::string& text, std::uint64_t world_size = 1) {
  Result<Config> config = Config::parse(text, world_size);
  EXPECT_TRUE(config.ok()) << config.status().to_string();
  return config.ok() ? config.value() : Config();
}

TEST(ConfigParse, ReadsEveryKindOfValue) {
  const Config config = parsed(R"({
    "train_batch_size": 64, "train_micro_batch_size_per_gpu": "4", "gradient_clipping": 0,
    "steps_per_print": 10.0, "wall_clock_breakdown": true, "bf16": {"enabled": true},
    "optimizer": {"type": "adam", "params": {"lr": 1, "betas": [0, 0.5], "adam_w_mode": false}},
    "zero_optimization": {
      "stage": "3", "sub_group_size": 5e8, "prefetch_bucket_size": 0,
      "offload_param": {"device": "nvme", "nvme_path": "/a", "pin_memory": false},
      "offload_optimizer": {"device": "cpu"}
    },
    "aio": {"block_size": 8192, "queue_depth": 3, "intra_op_parallelism": 2},
    "stepwell": {
      "memory": {"device_bytes": "1.5GB", "host_bytes": 7}, "io": {"engine": "threads"},
      "device": {"kind": "cpu", "unified_memory": false}
    }
  })",
                               4);
  EXPECT_EQ(config.gradient_accumulation_steps, 4U);
  EXPECT_EQ(config.gradient_clipping, 0.0);
  EXPECT_EQ(config.steps_per_print, 10U);
  EXPECT_TRUE(config.wall_clock_breakdown);
  EXPECT_EQ(config.precision, Precision::kBf16);
  EXPECT_TRUE(config.has_optimizer);
  EXPECT_EQ(config.optimizer.kind, OptimizerKind::kAdam);
  EXPECT_EQ(config.optimizer.beta2, 0.5);
  EXPECT_FALSE(config.optimizer.adam_w_mode);
  EXPECT_EQ(config.zero.stage, 3);
  EXPECT_EQ(config.zero.sub_group_size, 500'000'000U);
  EXPECT_EQ(config.zero.prefetch_bucket_size, 0U);
  EXPECT_EQ(config.zero.offload_param.device, OffloadDevice::kNvme);
  EXPECT_EQ(config.zero.offload_param.nvme_path, "/a");
  EXPECT_FALSE(config.zero.offload_param.pin_memory);
  EXPECT_EQ(config.zero.offload_optimizer.device, OffloadDevice::kCpu);
  EXPECT_EQ(config.aio.block_size_bytes, 8192U);
  EXPECT_EQ(config.aio.queue_depth, 3U);
  EXPECT_EQ(config.aio.intra_op_parallelism, 2U);
  EXPECT_EQ(config.stepwell.device_bytes, 1'500'000'000U);
  EXPECT_EQ(config.stepwell.host_bytes, 7U);
  EXPECT_EQ(config.stepwell.io_engine, "threads");
  EXPECT_EQ(config.stepwell.device, "cpu");
  EXPECT_FALSE(config.stepwell.unified_memory);
  EXPECT_THAT(config.notes, IsEmpty());
}

TEST(ConfigParse, DefaultsAreThoseOfTheStruct) {
  Config plain;
  EXPECT_EQ(parsed(R"({"train_batch_size": 1})").to_json(), plain.to_json());
}

TEST(ConfigParse, BytesHaveUnits) {
  const auto device_bytes = [](const std::string& value) {
    return parsed(R"({"train_batch_size": 1, "stepwell": {"memory": {"device_bytes": )" + value +
                  "}}}")
        .stepwell.device_bytes;
  };
  EXPECT_EQ(device_bytes("\"512MiB\""), 512U << 20);
  EXPECT_EQ(device_bytes("\"2 gib\""), 2ULL << 30);
  EXPECT_EQ(device_bytes("\"0.5KiB\""), 512U);
  EXPECT_EQ(device_bytes("\"100\""), 100U);
  EXPECT_EQ(device_bytes("\"100B\""), 100U);
  EXPECT_EQ(device_bytes("\"auto\""), kAutoBytes);
}

TEST(ConfigParse, WithoutOptimizerThereIsNone) {
  const Config config = parsed(R"({"train_batch_size": 1})");
  EXPECT_FALSE(config.has_optimizer);
  EXPECT_THAT(config.to_json(), Not(HasSubstr("\"optimizer\": {\n    \"type\"")));
}

TEST(ConfigParse, NotesSayWhatHasNoEffect) {
  const Config config = parsed(R"({
    "train_batch_size": 1, "gradient_clipping": "auto", "fp16": {"enabled": false, "hysteresis": 3},
    "zero_optimization": {"cpu_offload": true, "reduce_bucket_size": 5e8}
  })");
  EXPECT_EQ(config.zero.offload_optimizer.device, OffloadDevice::kCpu);
  EXPECT_THAT(config.notes,
              ElementsAre(HasSubstr("gradient_clipping: \"auto\" is the default, 1.0"),
                          HasSubstr("reduce_bucket_size: no effect"),
                          HasSubstr("cpu_offload: deprecated"),
                          HasSubstr("fp16.hysteresis: no effect: fp16.enabled is not true")));
}

TEST(ConfigParse, IndependentErrorsComeTogether) {
  const Status status = Config::parse(R"({
    "train_batch_sise": 4, "train_batch_size": 8, "zero_optimization": {"stage": 4},
    "aio": {"block_size": 1000, "queue_depth": true}
  })")
                            .status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("4 errors"),
                    HasSubstr("train_batch_sise: unknown key; did you mean 'train_batch_size'?"),
                    HasSubstr("zero_optimization.stage: expected an integer from 0 to 3, found 4"),
                    HasSubstr("aio.block_size: expected an integer from 4096 to 1073741824, a "
                              "multiple of 4096 (bytes), found 1000"),
                    HasSubstr("aio.queue_depth: expected an integer from 1 to 4096 (requests), "
                              "found true")));
}

TEST(ConfigParse, ManyErrorsAreCutOff) {
  std::string text = "{\"train_batch_size\": 1";
  for (int i = 0; i < 25; ++i) {
    text += ", \"unknown_" + std::to_string(i) + "\": 0";
  }
  const std::string message = Config::parse(text + "}").status().message();
  EXPECT_THAT(message, AllOf(HasSubstr("25 errors"), HasSubstr("and 15 more")));
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 11);
}

TEST(ConfigParse, WhatOnlyDeepSpeedHasIsUnsupportedNotWrong) {
  EXPECT_EQ(Config::parse(R"({"train_batch_size": 1, "fp16": {"enabled": true}})").status().code(),
            StatusCode::kUnsupported);
  EXPECT_EQ(Config::parse(R"({"train_batch_size": 1, "fp16": {"enabled": 3}})").status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_FALSE(Config::parse(R"({"train_batch_size": 1})", 0).ok());
}

TEST(ConfigLoad, NamesTheFile) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("config.json");
  EXPECT_EQ(Config::load(path).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Config::load(folder.path().string()).status().code(), StatusCode::kIo);
  std::ofstream(path) << "{\"train_batch_size\": 2}";
  EXPECT_EQ(Config::load(path).value().train_batch_size, 2U);
  std::ofstream(path) << "{\"train_batch_size\" 2}";
  EXPECT_THAT(Config::load(path).status().message(),
              AllOf(HasSubstr(path), HasSubstr("line 1, column 21")));
}

TEST(ConfigFiles, WhatUsersCopyIsAcceptedInSilence) {
  for (const char* name : {"zero0", "zero2_cpu_optimizer", "zero3_cpu", "zero3_nvme"}) {
    const Result<Config> config =
        Config::load(std::string(STEPWELL_CONFIGS_FOLDER "/") + name + ".json");
    ASSERT_TRUE(config.ok()) << config.status().to_string();
    EXPECT_THAT(config.value().notes, IsEmpty()) << name;
  }
}

}  // namespace
}  // namespace stepwell
