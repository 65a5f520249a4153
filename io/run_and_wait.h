// For callers that may block: starts an asynchronous piece of work and waits for its callback.
#pragma once

#include <condition_variable>
#include <mutex>

#include "stepwell/status.h"

namespace stepwell::io {

/// Takes `work.context` and `work.on_complete` (of the form void(Work&, const Status&) noexcept)
/// for itself, calls `start`, and returns what the callback was told. Not on the thread that calls
/// back.
template <class Work, class Start>
Status run_and_wait(Work& work, const Start& start) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable passed;
    bool open = false;
    Status status;
  } gate;
  work.context = &gate;
  work.on_complete = [](Work& done, const Status& status) noexcept {
    Gate& passed = *static_cast<Gate*>(done.context);
    const std::lock_guard lock(passed.mutex);
    passed.status = status;
    passed.open = true;
    passed.passed.notify_one();
  };
  start();
  std::unique_lock lock(gate.mutex);
  gate.passed.wait(lock, [&] { return gate.open; });
  return gate.status;
}

}  // namespace stepwell::io
