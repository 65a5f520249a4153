#include "io/placement.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "src/base/format.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::io {
namespace {

TEST(Placement, ListsOfCoresAreRead) {
  EXPECT_EQ(parse_cpu_list("0").value(), std::vector<int>({0}));
  EXPECT_EQ(parse_cpu_list("8,0-3,2").value(), std::vector<int>({0, 1, 2, 3, 8}));
  for (const char* wrong : {"", "a", "1-", "3-1", "1,", "-1", "1 2", "99999", "0-99999"}) {
    EXPECT_EQ(parse_cpu_list(wrong).status().code(), StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(Placement, CoresNearADeviceAreThoseOfItsNode) {
  const test::TemporaryFolder folder;
  struct stat status {};
  ASSERT_EQ(::stat(folder.path().c_str(), &status), 0);
  const std::filesystem::path sysfs = folder.path() / "sys";
  const std::filesystem::path device =
      sysfs / "dev" / "block" / concat(major(status.st_dev), ":", minor(status.st_dev)) / "device";
  const std::filesystem::path node = sysfs / "devices" / "system" / "node" / "node1";
  std::filesystem::create_directories(device);
  std::filesystem::create_directories(node);
  std::ofstream(device / "numa_node") << "1\n";
  std::ofstream(node / "cpulist") << "4-6\n";
  EXPECT_EQ(cpus_near(folder.path().string(), sysfs.string()), std::vector<int>({4, 5, 6}));
  std::ofstream(device / "numa_node") << "-1\n";
  EXPECT_TRUE(cpus_near(folder.path().string(), sysfs.string()).empty());
  EXPECT_TRUE(cpus_near("/nowhere", sysfs.string()).empty());
}

TEST(Placement, ConfigurationNamesAnyNearOrAList) {
  EXPECT_TRUE(cpus_for("any", "/").value().empty());
  EXPECT_TRUE(cpus_for("near", "/").ok());
  EXPECT_EQ(cpus_for("1", "/").value(), std::vector<int>({1}));
  EXPECT_FALSE(cpus_for("some", "/").ok());
}

}  // namespace
}  // namespace stepwell::io
