#include "src/data/text.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace stepwell::data {
namespace {

using testing::HasSubstr;

class TextTest : public testing::Test {
 protected:
  std::string write(const std::string& content) const {
    const std::string path = folder_.file("text.txt");
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  test::TemporaryFolder folder_;
};

TEST_F(TextTest, KeepsTheLastTenthForMeasuring) {
  const Result<Text> text = load_text(write("abcdefghijklmnopqrst"));
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  const Text& read = text.value();
  EXPECT_EQ(std::string(read.train.begin(), read.train.end()), "abcdefghijklmnopqr");
  EXPECT_EQ(std::string(read.held_out.begin(), read.held_out.end()), "st");
}

TEST_F(TextTest, DropsByteOrderMarkAndCarriageReturns) {
  const Result<Text> text =
      load_text(write("\xEF\xBB\xBF"
                      "a\r\nb\r\nc\r\nd\r\ne\r\n"));
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  const Text& read = text.value();
  EXPECT_EQ(std::string(read.train.begin(), read.train.end()), "a\nb\nc\nd\ne");
}

TEST_F(TextTest, NamesAMissingFile) {
  const Status status = load_text(folder_.file("none.txt")).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("none.txt"));
}

TEST_F(TextTest, RefusesAFolder) {
  const Status status = load_text(folder_.path().string()).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("is a folder"));
}

TEST_F(TextTest, MayBeEmpty) {
  const Result<Text> text = load_text(write(""));
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  EXPECT_THAT(check_length(text.value(), "empty", 1).message(), HasSubstr("has 0 bytes"));
}

TEST(TextLength, SaysHowLongATextMustBe) {
  Text text;
  text.train.resize(900);
  text.held_out.resize(100);
  EXPECT_TRUE(check_length(text, "novel.txt", 100).ok());
  const Status status = check_length(text, "novel.txt", 129);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  for (const char* part : {"novel.txt", "has 1000 bytes", "about 1290", "shorter context"}) {
    EXPECT_THAT(status.message(), HasSubstr(part));
  }
}

TEST(Sums, AreRightAndTheSameForTheSameSeed) {
  const Text sums = make_sums(7, 1000);
  EXPECT_EQ(sums.train, make_sums(7, 1000).train);
  EXPECT_NE(sums.train, make_sums(8, 1000).train);
  EXPECT_GE(sums.train.size() + sums.held_out.size(), 1000U);
  int left = 0;
  int right = 0;
  int total = 0;
  const std::string text(sums.train.begin(), sums.train.end());
  ASSERT_EQ(std::sscanf(text.c_str(), "%d+%d=%d", &left, &right, &total), 3);
  EXPECT_EQ(left + right, total);
}

}  // namespace
}  // namespace stepwell::data
