#include "stepwell/status.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace stepwell {
namespace {

TEST(Status, DerivesTheCodeFromErrnoAndKeepsIt) {
  const Status status = Status::from_errno(ENOSPC, "write of 10 bytes at offset 0 of x");
  EXPECT_EQ(status.code(), StatusCode::kNoSpace);
  EXPECT_EQ(status.os_error(), ENOSPC);
  EXPECT_EQ(status.to_string(),
            "no space: write of 10 bytes at offset 0 of x: No space left on device (errno 28)");
}

TEST(Status, ContextGoesInFront) {
  const Status status = Status(StatusCode::kCorrupt, "block 3").with_context("h.0.weight");
  EXPECT_EQ(status.to_string(), "corrupt data: h.0.weight: block 3");
}

TEST(Result, GivesTheValueOrThrowsTheError) {
  EXPECT_EQ(Result<int>(7).value(), 7);
  Result<int> failed(Status(StatusCode::kNotFound, "no such thing"));
  EXPECT_FALSE(failed.ok());
  try {
    (void)std::move(failed).value_or_throw();
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::kNotFound);
    EXPECT_STREQ(error.what(), "not found: no such thing");
  }
}

TEST(ResultDeathTest, ValueOfAnErrorIsABug) {
  EXPECT_DEATH((void)Result<int>(Status(StatusCode::kIo, "broken")).value(), "broken");
}

}  // namespace
}  // namespace stepwell
