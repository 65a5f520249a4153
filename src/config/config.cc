#include "stepwell/config.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/base/format.h"
#include "src/config/json_text.h"
#include "src/config/parse.h"
#include "src/config/schema.h"
#include "src/config/value.h"

namespace stepwell {

const char* to_string(OffloadDevice device) {
  switch (device) {
    case OffloadDevice::kNone:
      return "none";
    case OffloadDevice::kCpu:
      return "cpu";
    case OffloadDevice::kNvme:
      return "nvme";
  }
  return "unknown";
}

Result<Config> Config::parse(const std::string& text, std::uint64_t world_size) {
  if (world_size == 0) {
    return Status(StatusCode::kInvalidArgument, "configuration: the world size must be at least 1");
  }
  const Result<config::Json> root = config::read_json(text);
  if (!root.ok()) {
    return root.status().with_context("configuration");
  }
  return config::parse_json(root.value(), world_size);
}

Result<Config> Config::load(const std::string& path, std::uint64_t world_size) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return Status(StatusCode::kNotFound, concat("configuration file '", path, "' does not exist"));
  }
  if (!std::filesystem::is_regular_file(status)) {
    return Status(StatusCode::kIo, concat("configuration '", path, "' is not a regular file"));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    return Status::from_errno(errno, concat("reading the configuration file '", path, "'"));
  }
  Result<Config> config = parse(text.str(), world_size);
  return config.ok() ? std::move(config) : config.status().with_context(concat("'", path, "'"));
}

std::string Config::to_json() const {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  for (const config::Key& key : config::keys()) {
    if (key.field == nullptr || (key.path.starts_with("optimizer.") && !has_optimizer)) {
      continue;
    }
    std::string pointer = "/" + std::string(key.path);
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    root[nlohmann::ordered_json::json_pointer(pointer)] = config::load_value(key, *this);
  }
  return root.dump(2);
}

}  // namespace stepwell
