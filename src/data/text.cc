#include "src/data/text.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "src/base/format.h"
#include "src/data/windows.h"

namespace stepwell::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

Text split(std::vector<std::uint8_t> bytes) {
  const auto cut = bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 10 * 9);
  return {.train = {bytes.begin(), cut}, .held_out = {cut, bytes.end()}};
}

Result<std::vector<std::uint8_t>> read_file(const std::string& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    return Status(StatusCode::kInvalidArgument,
                  concat("text ", path, " is a folder; name a file of plain text"));
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) {
    return Status::from_errno(errno, concat("opening text ", path));
  }
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> chunk(std::size_t{1} << 16);
  while (const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(count));
  }
  if (std::ferror(file.get()) != 0) {
    return Status::from_errno(errno, concat("reading text ", path));
  }
  return bytes;
}

void clean(std::vector<std::uint8_t>& bytes) {
  if (bytes.size() >= kByteOrderMark.size() &&
      std::memcmp(bytes.data(), kByteOrderMark.data(), kByteOrderMark.size()) == 0) {
    bytes.erase(bytes.begin(), bytes.begin() + kByteOrderMark.size());
  }
  std::erase(bytes, static_cast<std::uint8_t>('\r'));
}

}  // namespace

Result<Text> load_text(const std::string& path) {
  Result<std::vector<std::uint8_t>> bytes = read_file(path);
  STEPWELL_RETURN_IF_ERROR(bytes.status());
  clean(bytes.value());
  return split(std::move(bytes).value());
}

Status check_length(const Text& text, const std::string& name, std::uint64_t window_bytes) {
  if (std::min(text.train.size(), text.held_out.size()) >= window_bytes) {
    return {};
  }
  return {StatusCode::kInvalidArgument,
          concat("text ",
                 name,
                 " has ",
                 text.train.size() + text.held_out.size(),
                 " bytes; its last tenth must hold a window of ",
                 window_bytes,
                 " bytes, which takes about ",
                 10 * window_bytes,
                 ": give a longer text or a shorter context")};
}

Text make_sums(std::uint64_t seed, std::uint64_t size_bytes) {
  std::vector<std::uint8_t> bytes;
  for (std::uint64_t line = 0; bytes.size() < size_bytes; ++line) {
    const std::uint64_t drawn = random_at(seed, line);
    const std::uint64_t left = drawn % 100;
    const std::uint64_t right = drawn / 100 % 100;
    const std::string text = concat(left, '+', right, '=', left + right, '\n');
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  return split(std::move(bytes));
}

}  // namespace stepwell::data
