#include "tools/train/signals.h"

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace stepwell::train {
namespace {

/// A path that a signal handler may read: no allocation, published by one flag.
class HandlerPath {
 public:
  void set(const std::string& path) {
    ready_ = false;
    if (path.size() < bytes_.size()) {
      std::memcpy(bytes_.data(), path.c_str(), path.size() + 1);
      ready_ = true;
    }
  }
  const char* get() const { return ready_ ? bytes_.data() : nullptr; }

 private:
  std::array<char, PATH_MAX> bytes_{};
  std::atomic<bool> ready_{false};
};

// A handler has no argument to carry state in: this is the one place with statics.
std::atomic<int> stop{0};
std::array<HandlerPath, 64> files;
HandlerPath folder;

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void say(std::string_view text) {
  // Nothing can be done about a message that cannot be written.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

void on_signal(int number) {
  int none = 0;
  if (stop.compare_exchange_strong(none, number)) {
    say("\nstepwell: ending after this step; once more to end at once\n");
    return;
  }
  for (const HandlerPath& file : files) {
    if (file.get() != nullptr) {
      ::unlink(file.get());
    }
  }
  if (folder.get() != nullptr) {
    ::rmdir(folder.get());
  }
  ::_exit(128 + number);
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    // What is ignored already stays so: nohup asks for that.
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {
      sigaction(number, &action, nullptr);
    }
  }
  // A reader that went away is an error of the write, so that the run can still clean up.
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

int stop_signal() {
  return stop;
}

void remove_files_at_once(const std::vector<std::string>& paths) {
  for (std::size_t index = 0; index < files.size() && index < paths.size(); ++index) {
    files[index].set(paths[index]);
  }
}

void remove_folder_at_once(const std::string& path) {
  folder.set(path);
}

}  // namespace stepwell::train
