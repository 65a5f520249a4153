#include "tools/common/signals.h"

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace stepwell::tools {
namespace {

/// A path that a signal handler may read: no allocation, published by its state.
struct Slot {
  enum State : int { kFree, kTaken, kReady };
  std::array<char, PATH_MAX> path{};
  RemovedBySignal::Kind kind = RemovedBySignal::Kind::kFile;
  std::atomic<int> state{kFree};
};

// A handler has no argument to carry state in: this is the one place with statics.
std::atomic<int> stop{0};
std::string_view first_answer;
std::array<Slot, 65> slots;

static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  int none = 0;
  if (stop.compare_exchange_strong(none, number)) {
    // Nothing can be done about a message that cannot be written.
    [[maybe_unused]] const ssize_t written =
        ::write(STDERR_FILENO, first_answer.data(), first_answer.size());
    return;
  }
  for (const auto kind : {RemovedBySignal::Kind::kFile, RemovedBySignal::Kind::kFolder}) {
    for (const Slot& slot : slots) {
      if (slot.state == Slot::kReady && slot.kind == kind) {
        kind == RemovedBySignal::Kind::kFile ? ::unlink(slot.path.data())
                                             : ::rmdir(slot.path.data());
      }
    }
  }
  ::_exit(128 + number);
}

}  // namespace

void install_signal_handlers(std::string_view answer) {
  first_answer = answer;
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
  // A reader that went away is an error of the write, so that the program can still clean up.
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

int stop_signal() {
  return stop;
}

RemovedBySignal::RemovedBySignal(const std::string& path, Kind kind) {
  for (std::size_t index = 0; index < slots.size() && path.size() < PATH_MAX; ++index) {
    int free = Slot::kFree;
    if (slots[index].state.compare_exchange_strong(free, Slot::kTaken)) {
      std::memcpy(slots[index].path.data(), path.c_str(), path.size() + 1);
      slots[index].kind = kind;
      slots[index].state = Slot::kReady;
      slot_ = static_cast<int>(index);
      return;
    }
  }
}

RemovedBySignal::RemovedBySignal(RemovedBySignal&& other) noexcept
    : slot_(std::exchange(other.slot_, -1)) {}

RemovedBySignal::~RemovedBySignal() {
  if (slot_ >= 0) {
    slots[static_cast<std::size_t>(slot_)].state = Slot::kFree;
  }
}

}  // namespace stepwell::tools
