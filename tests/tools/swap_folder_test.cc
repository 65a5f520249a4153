#include "tools/train/swap_folder.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace stepwell::train {
namespace {

class SwapFolderTest : public testing::Test {
 protected:
  static Config config_with(const std::string& path) {
    Config config;
    config.zero.offload_optimizer = {.device = OffloadDevice::kNvme, .nvme_path = path};
    return config;
  }

  test::TemporaryFolder folder_;
};

TEST_F(SwapFolderTest, IsMadeAndTakenAway) {
  for (const std::string name : {"swap", "swap/"}) {
    {
      const Result<SwapFolder> made = SwapFolder::prepare(config_with(folder_.file(name)));
      ASSERT_TRUE(made.ok()) << made.status().to_string();
      EXPECT_TRUE(made.value().made());
      EXPECT_TRUE(std::filesystem::is_directory(folder_.file("swap")));
    }
    EXPECT_EQ(folder_.entry_count(), 0U);
  }
}

TEST_F(SwapFolderTest, StaysWhenItWasThereBefore) {
  { ASSERT_TRUE(SwapFolder::prepare(config_with(folder_.path().string())).ok()); }
  EXPECT_TRUE(std::filesystem::is_directory(folder_.path()));
}

TEST_F(SwapFolderTest, StaysWhenItHoldsSomething) {
  {
    const Result<SwapFolder> made = SwapFolder::prepare(config_with(folder_.file("swap")));
    ASSERT_TRUE(made.ok());
    std::ofstream(folder_.file("swap/kept")) << "x";
  }
  EXPECT_TRUE(std::filesystem::exists(folder_.file("swap/kept")));
}

TEST_F(SwapFolderTest, NamesAMissingParent) {
  const Status status = SwapFolder::prepare(config_with(folder_.file("none/swap"))).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), testing::HasSubstr(folder_.file("none") + " does not exist"));
  EXPECT_EQ(folder_.entry_count(), 0U);
}

TEST_F(SwapFolderTest, IsNotAskedForWithoutNvme) {
  const Result<SwapFolder> none = SwapFolder::prepare(Config());
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none.value().path(), "");
}

}  // namespace
}  // namespace stepwell::train
