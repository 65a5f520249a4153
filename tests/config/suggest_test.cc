#include "src/config/suggest.h"

#include <gtest/gtest.h>

namespace stepwell::config {
namespace {

TEST(EditDistance, CountsEditsAndSwaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("stage", "satge"), 1U);
  EXPECT_EQ(edit_distance("same", "same"), 0U);
}

TEST(Nearest, GivesNothingForAFarName) {
  EXPECT_EQ(nearest("nvm", {"none", "cpu", "nvme"}), "nvme");
  EXPECT_EQ(nearest("NVMe", {"none", "cpu", "nvme"}), "nvme");
  EXPECT_EQ(nearest("floppy", {"none", "cpu", "nvme"}), "");
  EXPECT_EQ(nearest(std::string(1000, 'n'), {"none"}), "");
}

TEST(SuggestKey, FindsSlipsAndMisplacedKeys) {
  EXPECT_EQ(suggest_key("zero_optimisation"), "; did you mean 'zero_optimization'?");
  EXPECT_EQ(suggest_key("zero_optimization.aio"), "; 'aio' belongs at the top level");
  EXPECT_EQ(suggest_key("offload_param"), "; 'offload_param' belongs under 'zero_optimization'");
  EXPECT_EQ(suggest_key("zero_optimization.offload_optimizer.nvme_pth"),
            "; did you mean 'zero_optimization.offload_optimizer.nvme_path'?");
  EXPECT_EQ(suggest_key("weight_decy"), "; did you mean 'weight_decay' under 'optimizer.params'?");
  EXPECT_EQ(suggest_key("train_micro_batch_size"),
            "; did you mean 'train_micro_batch_size_per_gpu'?");
  EXPECT_EQ(suggest_key("zero_optimization.zero_stage"),
            "; did you mean 'zero_optimization.stage'?");
  EXPECT_EQ(suggest_key("zero_optimization.offload"),
            "; did you mean 'zero_optimization.offload_param'?");
  EXPECT_EQ(suggest_key("warmup_num_steps"),
            "; 'warmup_num_steps' belongs under 'scheduler.params'");
  EXPECT_EQ(suggest_key("something_else_entirely"), "");
}

}  // namespace
}  // namespace stepwell::config
