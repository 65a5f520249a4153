#include "src/config/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepwell::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string error_of(const std::string& text) {
  return read_json(text).status().message();
}

TEST(BlankComments, KeepsStringsAndPlaces) {
  const std::string text =
      "{\"a//b\": \"#c /* \\\" , }\", // d\n \"e\": [1, /* f\n g */ 2,], # h\n}";
  const std::string plain = blank_comments(text).value();
  EXPECT_EQ(plain.size(), text.size());
  EXPECT_EQ(std::count(plain.begin(), plain.end(), '\n'), 3);
  const Json value = read_json(text).value();
  EXPECT_EQ(value, (Json{{"a//b", "#c /* \" , }"}, {"e", {1, 2}}}));
}

TEST(BlankComments, DropsACommaOnlyAfterAValue) {
  EXPECT_TRUE(read_json("{\"a\": [1 , ] , }").ok());
  EXPECT_FALSE(read_json("[,]").ok());
  EXPECT_FALSE(read_json("[1,,]").ok());
  EXPECT_FALSE(read_json("{,}").ok());
  EXPECT_FALSE(read_json("[1],").ok());
}

TEST(BlankComments, AnEndlessCommentNamesItsLine) {
  EXPECT_THAT(error_of("{\n\n/* \"a\": 1}"), AllOf(HasSubstr("line 3"), HasSubstr("add */")));
}

TEST(ReadJson, ASyntaxErrorNamesLineAndColumn) {
  EXPECT_THAT(error_of("{\n  // comment\n  \"a\" 1\n}"), HasSubstr("line 3, column 7"));
  EXPECT_THAT(error_of(""), HasSubstr("line 1, column 1"));
  EXPECT_THAT(error_of("{\"a\": 1e999}"), HasSubstr("1e999"));
  EXPECT_THAT(error_of("{} {}"), HasSubstr("line 1, column 4"));
  EXPECT_THAT(error_of("{\"a\": 2, b: 1}"),
              AllOf(HasSubstr("line 1, column 10: "),
                    HasSubstr("invalid literal; expected string literal")));
  EXPECT_FALSE(read_json("{\"a\": \"\xff\"}").ok());
  EXPECT_FALSE(read_json("{\"a\": \"\\").ok());
}

TEST(ReadJson, DuplicateKeysAreAllNamed) {
  EXPECT_THAT(error_of(R"({"a": {"b": 1, "b": 2}, "l": [{"c": 1, "c": 1}], "a": 3})"),
              AllOf(HasSubstr("a.b: "), HasSubstr("l.c: "), HasSubstr("\na: ")));
  EXPECT_TRUE(read_json(R"({"a": {"b": 1}, "c": {"b": 1}})").ok());
}

TEST(ReadJson, NestingIsBounded) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(read_json(nested(kDepthMax)).ok());
  EXPECT_THAT(error_of(nested(kDepthMax + 1)), HasSubstr("nested deeper"));
  EXPECT_THAT(error_of(std::string(1'000'000, '[')), HasSubstr("nested deeper"));
}

}  // namespace
}  // namespace stepwell::config
