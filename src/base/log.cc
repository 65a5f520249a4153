#include "stepwell/log.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <utility>

namespace stepwell {
namespace {

struct LogState {
  std::mutex mutex;
  LogSink sink;
  std::atomic<LogLevel> level{LogLevel::kInfo};
};

LogState& state() {
  static LogState instance;
  return instance;
}

const char* prefix_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug: ";
    case LogLevel::kInfo:
      return "";
    case LogLevel::kWarning:
      return "warning: ";
    case LogLevel::kError:
      return "error: ";
  }
  return "";
}

}  // namespace

void set_log_sink(LogSink sink) {
  const std::lock_guard lock(state().mutex);
  state().sink = std::move(sink);
}

void set_log_level(LogLevel level) {
  state().level = level;
}

void log(LogLevel level, const std::string& message) {
  if (level < state().level.load()) {
    return;
  }
  const std::lock_guard lock(state().mutex);
  if (state().sink) {
    state().sink(level, message);
  } else {
    std::fprintf(stderr, "stepwell: %s%s\n", prefix_of(level), message.c_str());
  }
}

}  // namespace stepwell
