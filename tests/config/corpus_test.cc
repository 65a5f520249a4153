// Configurations as people write them, good and wrong. Each file of corpus/ begins with comments
// that say what must become of it:
//   // ranks: 4             world size, 1 when absent
//   // accepted, // refused
//   // says: text           must occur in the message (refused) or in a note (accepted)
//   // has: text            must occur in to_json (accepted)
//   // notes: 0             number of notes (accepted)
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stepwell/config.h"

namespace stepwell {
namespace {

struct Case {
  std::uint64_t ranks = 1;
  bool accepted = false;
  bool refused = false;
  std::vector<std::string> says;
  std::vector<std::string> has;
  int notes = -1;
  std::string text;
};

Case read_case(const std::string& path) {
  Case result;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  result.text = text.str();
  std::istringstream lines(result.text);
  for (std::string line; std::getline(lines, line) && line.starts_with("// ");) {
    const std::size_t colon = line.find(": ");
    const std::string name = line.substr(3, colon == std::string::npos ? colon : colon - 3);
    const std::string value = colon == std::string::npos ? "" : line.substr(colon + 2);
    if (name == "ranks") {
      result.ranks = std::stoull(value);
    } else if (name == "says") {
      result.says.push_back(value);
    } else if (name == "has") {
      result.has.push_back(value);
    } else if (name == "notes") {
      result.notes = std::stoi(value);
    } else {
      result.accepted = result.accepted || name == "accepted";
      result.refused = result.refused || name == "refused";
    }
  }
  return result;
}

std::vector<std::string> corpus() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(STEPWELL_CORPUS_FOLDER)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class ConfigCorpus : public testing::TestWithParam<std::string> {};

TEST_P(ConfigCorpus, IsAnsweredAsExpected) {
  const Case expected = read_case(STEPWELL_CORPUS_FOLDER "/" + GetParam() + ".json");
  ASSERT_NE(expected.accepted, expected.refused) << "the file must say accepted or refused";
  const Result<Config> config = Config::parse(expected.text, expected.ranks);
  ASSERT_EQ(config.ok(), expected.accepted) << config.status().to_string();
  std::string said = config.status().message();
  if (config.ok()) {
    for (const std::string& note : config.value().notes) {
      said += note + "\n";
    }
    const std::string json = config.value().to_json();
    for (const std::string& text : expected.has) {
      EXPECT_THAT(json, testing::HasSubstr(text));
    }
    if (expected.notes >= 0) {
      EXPECT_EQ(config.value().notes.size(), static_cast<std::size_t>(expected.notes)) << said;
    }
    EXPECT_EQ(Config::parse(json, expected.ranks).value().to_json(), json);
  }
  for (const std::string& text : expected.says) {
    EXPECT_THAT(said, testing::HasSubstr(text));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ConfigCorpus, testing::ValuesIn(corpus()), [](const auto& name) {
  return name.param;
});

TEST(ConfigCorpusFolder, IsThere) {
  EXPECT_GE(corpus().size(), 40U);
}

}  // namespace
}  // namespace stepwell
