// What is going on, on standard error and only for people who watch.
#pragma once

#include <string>

namespace stepwell::swap_bench {

/// One line that is written over and over; nothing at all when standard error is no terminal.
/// Thread-compatible.
class Progress {
 public:
  Progress();
  explicit Progress(bool visible) : visible_(visible) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& text);
  /// Takes the line away, before other output.
  void clear();

 private:
  bool visible_ = false;
  bool shown_ = false;
};

/// "swap-bench: warning: TEXT" on standard error.
void warn(const std::string& text);

/// "swap-bench: TEXT" on standard error.
void note(const std::string& text);

}  // namespace stepwell::swap_bench
