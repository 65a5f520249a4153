// The folder of the swap file: made when it is missing, and taken away again.
#pragma once

#include <string>
#include <vector>

#include "stepwell/config.h"
#include "stepwell/status.h"

namespace stepwell::train {

/// Move-only. Removes the folder at destruction if it made it and it is empty.
class SwapFolder {
 public:
  /// The folder that `config` names, or none. Makes its last component only: a missing parent is
  /// most likely a slip of the pen or a disk that is not mounted (kNotFound).
  static Result<SwapFolder> prepare(const Config& config);
  SwapFolder(SwapFolder&& other) noexcept;
  SwapFolder& operator=(SwapFolder&& other) = delete;
  ~SwapFolder();

  /// Empty when the configuration uses no NVMe.
  const std::string& path() const { return path_; }
  bool made() const { return made_; }
  /// Every folder that will hold a swap file: this one, or those of stepwell.io.devices.
  const std::vector<std::string>& all() const { return all_; }

 private:
  SwapFolder(std::string path, bool made) : path_(std::move(path)), made_(made) {
    if (!path_.empty()) {
      all_.push_back(path_);
    }
  }

  std::string path_;
  bool made_ = false;
  std::vector<std::string> all_;
};

}  // namespace stepwell::train
