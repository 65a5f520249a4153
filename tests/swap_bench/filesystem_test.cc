#include "tools/swap_bench/filesystem.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "tests/support/temporary_folder.h"

namespace stepwell::swap_bench {
namespace {

TEST(Filesystem, OfADiskIsNotInMemory) {
  const test::TemporaryFolder folder;
  const Result<Filesystem> found = filesystem_of(folder.path().string());
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_FALSE(found.value().in_memory) << found.value().name;
  EXPECT_NE(found.value().name, "");
}

TEST(Filesystem, OfTmpfsIsInMemory) {
  const test::TemporaryFolder folder;
  if (::mount("none", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "a tmpfs cannot be mounted here (needs CAP_SYS_ADMIN)";
  }
  const Result<Filesystem> found = filesystem_of(folder.path().string());
  ::umount(folder.path().c_str());
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_TRUE(found.value().in_memory);
  EXPECT_EQ(found.value().name, "tmpfs");
}

TEST(Filesystem, WhatIsNoFolderIsAnError) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.file("file")) << "text";
  EXPECT_EQ(filesystem_of(folder.file("none")).status().code(), StatusCode::kNotFound);
  const Status file = filesystem_of(folder.file("file")).status();
  EXPECT_EQ(file.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(file.message(), testing::HasSubstr("is no folder"));
}

TEST(Filesystem, TheUpperFolderOfAnOverlayIsFound) {
  constexpr const char* kMounts =
      "21 1 0:5 / /dev rw - devtmpfs devtmpfs rw\n"
      "30 1 0:33 / / rw,relatime - overlay overlay "
      "rw,lowerdir=/low,upperdir=/disk/up,workdir=/disk/work\n";
  EXPECT_EQ(internal::mount_option(kMounts, 30, "upperdir="), "/disk/up");
  EXPECT_EQ(internal::mount_option(kMounts, 21, "upperdir="), "");
  EXPECT_EQ(internal::mount_option(kMounts, 3, "upperdir="), "");
}

}  // namespace
}  // namespace stepwell::swap_bench
