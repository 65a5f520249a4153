// Seeded mutations of good configurations: never a crash, always a configuration or a message.
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stepwell/config.h"

namespace stepwell {
namespace {

constexpr int kRounds = 500;  // of each of the four files

std::string read(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(STEPWELL_CONFIGS_FOLDER "/" + name).rdbuf();
  return text.str();
}

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (std::size_t i = below(2) + 1; i > 0 && !text.empty(); --i) {
      one(text);
    }
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  void one(std::string& text) {
    static const std::vector<std::string> kPieces = {"{",        "}",
                                                     "[",        "]",
                                                     ",",        ":",
                                                     "\"",       "\\",
                                                     "/*",       "*/",
                                                     "//",       "#",
                                                     "null",     "true",
                                                     "\"auto\"", "-1",
                                                     "1e400",    "18446744073709551616",
                                                     "0.5",      "\"x\": ",
                                                     "{}",       "\"stage\": 2,",
                                                     "\xff",     "\n"};
    const std::size_t at = below(text.size());
    const std::size_t size = below(8) + 1;
    switch (below(5)) {
      case 0:
        text.erase(at, size);
        break;
      case 1:
        text.insert(at, kPieces[below(kPieces.size())]);
        break;
      case 2:
        text[at] = static_cast<char>(below(256));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), size * 8));
        break;
      default:
        replace_value(text, at);
        break;
    }
  }

  /// Puts something else after the colon that follows `at`, so that much of it stays JSON.
  void replace_value(std::string& text, std::size_t at) {
    static const std::vector<std::string> kValues = {
        "null", "true", "\"auto\"", "[]", "{}", "-1", "0", "1e30", "\"3\"", "2.5", "[0.5, 0.5]"};
    const std::size_t colon = text.find(':', at);
    const std::size_t end = text.find_first_of(",}\n", colon);
    if (colon != std::string::npos && end != std::string::npos) {
      text.replace(colon + 1, end - colon - 1, kValues[below(kValues.size())]);
    }
  }

  std::mt19937 random_;
};

TEST(ConfigFuzz, AnyTextGivesAConfigurationOrAMessage) {
  int accepted = 0;
  int refused = 0;
  for (const char* name :
       {"zero0.json", "zero2_cpu_optimizer.json", "zero3_cpu.json", "zero3_nvme.json"}) {
    const std::string good = read(name);
    ASSERT_FALSE(good.empty());
    for (std::uint32_t seed = 0; seed < kRounds; ++seed) {
      const std::string text = Mutator(seed).mutate(good);
      const Result<Config> config = Config::parse(text, seed % 3 + 1);
      if (!config.ok()) {
        ++refused;
        EXPECT_FALSE(config.status().message().empty());
        continue;
      }
      ++accepted;
      const std::string json = config.value().to_json();
      const Result<Config> again = Config::parse(json, seed % 3 + 1);
      ASSERT_TRUE(again.ok()) << name << " seed " << seed << "\n"
                              << text << "\n"
                              << again.status().to_string();
      EXPECT_EQ(again.value().to_json(), json) << name << " seed " << seed;
    }
  }
  EXPECT_GT(accepted, kRounds / 4);
  EXPECT_GT(refused, kRounds);
}

}  // namespace
}  // namespace stepwell
