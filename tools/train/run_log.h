// The run as JSON: one object a line, a step each, and the summary at the end.
#pragma once

#include <fstream>
#include <string>

#include "stepwell/status.h"
#include "tools/train/records.h"

namespace stepwell::train {

/// The summary as one line of JSON.
std::string summary_json(const Summary& summary);

/// Move-only. Without a path it writes nothing.
class RunLog {
 public:
  /// Replaces a file of that name. An empty `path` means no log.
  static Result<RunLog> open(const std::string& path);

  /// kIo (with errno's reason) when the line did not reach the file.
  Status write(const StepRecord& record);
  Status write(const Summary& summary);

 private:
  explicit RunLog(std::string path) : path_(std::move(path)) {}
  Status write_line(const std::string& line);

  std::string path_;
  std::ofstream file_;
};

}  // namespace stepwell::train
