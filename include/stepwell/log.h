// Messages of the library to its user. One line each, to a sink the program may replace.
#pragma once

#include <functional>
#include <string>

namespace stepwell {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Called for every message at or above the level, possibly from several threads, one at a time.
using LogSink = std::function<void(LogLevel, const std::string&)>;

/// Replaces the sink (default: "stepwell: …" lines on standard error). An empty sink restores the
/// default.
void set_log_sink(LogSink sink);

/// Messages below `level` are dropped. Default: kInfo.
void set_log_level(LogLevel level);

/// Thread-safe.
void log(LogLevel level, const std::string& message);

inline void log_info(const std::string& message) {
  log(LogLevel::kInfo, message);
}
inline void log_warning(const std::string& message) {
  log(LogLevel::kWarning, message);
}

}  // namespace stepwell
