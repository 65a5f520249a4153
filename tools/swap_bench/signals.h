// Ctrl-C, SIGTERM and SIGHUP: the first asks the program to end soon and tidily, the second ends it
// at once, taking the files that are registered here with it.
#pragma once

#include <string>

namespace stepwell::swap_bench {

/// Handles SIGINT, SIGTERM and SIGHUP from now on, unless they are ignored; a closed pipe becomes
/// an error of the write. Call once.
void install_signal_handlers();

/// The signal that asked to stop, or 0. Thread-safe.
int stop_signal();

/// A file that a second signal removes, as long as this lives. At most 64 at a time: more are not
/// known to the handler. Thread-safe.
class RemovedBySignal {
 public:
  explicit RemovedBySignal(const std::string& path);
  RemovedBySignal(RemovedBySignal&& other) noexcept;
  RemovedBySignal& operator=(RemovedBySignal&& other) = delete;
  ~RemovedBySignal();

 private:
  int slot_ = -1;
};

}  // namespace stepwell::swap_bench
