#include "tools/swap_bench/page_cache.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "stepwell/bytes.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::swap_bench {
namespace {

TEST(PageCache, AFileInMemoryIsSeenAndDropped) {
  const test::TemporaryFolder folder;
  const auto file = io::File::open(folder.file("file"), {.create = true, .direct = false});
  ASSERT_TRUE(file.ok());
  const std::vector<char> bytes(kMiB, 'x');
  ASSERT_EQ(::pwrite(file.value().buffered_fd(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(resident_share(file.value()).value(), 1.0);
  const Status cached = check_not_cached(file.value());
  EXPECT_EQ(cached.code(), StatusCode::kCorrupt);
  EXPECT_THAT(cached.message(), testing::HasSubstr("100 %"));
  ASSERT_TRUE(drop_page_cache(file.value()).ok());
  EXPECT_LT(resident_share(file.value()).value(), 0.05);
  EXPECT_TRUE(check_not_cached(file.value()).ok());
}

TEST(PageCache, AnEmptyFileHasNoPages) {
  const test::TemporaryFolder folder;
  const auto file = io::File::open(folder.file("file"), {.create = true});
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(resident_share(file.value()).value(), 0.0);
}

TEST(PageCache, ARateThatNoDiskReachesIsRefused) {
  EXPECT_TRUE(check_plausible(2e9, 1e9).ok());
  EXPECT_TRUE(check_plausible(2e10, 0).ok()) << "nothing to compare with";
  const Status refused = check_plausible(2e10, 1e9);
  EXPECT_EQ(refused.code(), StatusCode::kCorrupt);
  EXPECT_THAT(refused.message(), testing::HasSubstr("18.6 GiB/s"));
}

}  // namespace
}  // namespace stepwell::swap_bench
