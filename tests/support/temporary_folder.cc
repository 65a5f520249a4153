#include "tests/support/temporary_folder.h"

#include <cstdlib>
#include <iterator>
#include <system_error>

#include "stepwell/check.h"

namespace stepwell::test {
namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  const char* base = std::getenv("STEPWELL_TEST_DIR");
  std::string pattern =
      (base != nullptr ? fs::path(base) : fs::current_path()) / "stepwell-test-XXXXXX";
  STEPWELL_CHECK(mkdtemp(pattern.data()) != nullptr, "cannot make a folder like " + pattern);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::permissions(path_, fs::perms::owner_all, ignored);
  fs::remove_all(path_, ignored);
}

std::size_t TemporaryFolder::entry_count() const {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
}

}  // namespace stepwell::test
