#include "tools/swap_bench/progress.h"

#include <cstdio>

#include <unistd.h>

#include "src/base/format.h"

namespace stepwell::swap_bench {
namespace {

// A closed standard error is no reason to end, so nothing here throws or checks.
void put(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress() : Progress(::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  clear();
}

void Progress::show(const std::string& text) {
  if (visible_) {
    put(concat("\r\033[K", text));
    shown_ = true;
  }
}

void Progress::clear() {
  if (shown_) {
    put("\r\033[K");
    shown_ = false;
  }
}

void warn(const std::string& text) {
  put(concat("swap-bench: warning: ", text, '\n'));
}

void note(const std::string& text) {
  put(concat("swap-bench: ", text, '\n'));
}

}  // namespace stepwell::swap_bench
