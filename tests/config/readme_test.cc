#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "src/config/schema.h"

namespace stepwell::config {
namespace {

TEST(ConfigsReadme, CarriesTheTableOfTheSchema) {
  const std::string path = STEPWELL_CONFIGS_FOLDER "/README.md";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string marker = "rewrites it. -->\n";
  const std::size_t begin = text.str().find(marker);
  ASSERT_NE(begin, std::string::npos) << path;
  const std::string prose = text.str().substr(0, begin + marker.size());
  if (std::getenv("STEPWELL_UPDATE_README") != nullptr) {
    std::ofstream(path) << prose << schema_markdown();
    return;
  }
  EXPECT_EQ(text.str().substr(prose.size()), schema_markdown())
      << "the table changed: run config_tests with STEPWELL_UPDATE_README=1";
}

}  // namespace
}  // namespace stepwell::config
