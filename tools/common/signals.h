// Ctrl-C, SIGTERM and SIGHUP: the first asks the program to end soon and tidily, the second ends it
// at once, taking what is registered here with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepwell::tools {

/// Handles SIGINT, SIGTERM and SIGHUP from now on, unless they are ignored; a closed pipe becomes
/// an error of the write. The first signal prints `answer`, a text that lives for ever. Call once.
void install_signal_handlers(std::string_view answer);

/// The signal that asked to stop, or 0. Thread-safe.
int stop_signal();

/// A file, or a folder that is empty by then, that a second signal removes as long as this lives;
/// it need not exist yet. Folders go after all files. At most 65 at a time: more are not known to
/// the handler. Thread-safe.
class RemovedBySignal {
 public:
  enum class Kind : std::uint8_t { kFile, kFolder };
  explicit RemovedBySignal(const std::string& path, Kind kind = Kind::kFile);
  RemovedBySignal(RemovedBySignal&& other) noexcept;
  RemovedBySignal& operator=(RemovedBySignal&& other) = delete;
  ~RemovedBySignal();

 private:
  int slot_ = -1;
};

}  // namespace stepwell::tools
