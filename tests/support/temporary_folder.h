// A fresh folder on a real disk (not in memory), removed with its contents at the end of the test.
#pragma once

#include <filesystem>
#include <string>

namespace stepwell::test {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// Number of directory entries: tests end by showing that nothing was left behind.
  std::size_t entry_count() const;

 private:
  std::filesystem::path path_;
};

}  // namespace stepwell::test
