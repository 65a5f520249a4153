// An engine over real files that fails, holds or shortens requests on command.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "io/engine.h"

namespace stepwell::test {

/// What a fault engine does with the next requests. Thread-safe; shared by the test and the engine.
class FaultControl {
 public:
  /// The next `count` requests of `direction` fail with `os_error` and move nothing.
  void fail(io::Direction direction, int os_error, std::uint64_t count = UINT64_MAX);
  /// Every second request of either direction moves only half of its bytes.
  void shorten(bool on);
  /// Requests that come from now on wait for resume().
  void hold();
  void resume();
  /// The next `count` requests are taken and never answered, until answer_lost().
  void lose(std::uint64_t count);
  /// Answers the lost ones now, as a device that comes back does.
  void answer_lost();
  /// No failures, no shortening; resumes.
  void heal();
  /// Blocks until at least `count` requests wait.
  void wait_for_held(std::uint64_t count);

 private:
  friend class FaultEngine;
  struct Failures {
    int os_error = 0;
    std::uint64_t left = 0;
  };

  std::mutex mutex_;
  std::condition_variable changed_;  // held_ grew, resumed, or woken
  Failures reads_;
  Failures writes_;
  bool shorten_ = false;
  bool holding_ = false;
  std::uint64_t held_ = 0;
  std::uint64_t to_lose_ = 0;
  bool answer_lost_ = false;
  std::uint64_t requests_ = 0;
  bool woken_ = false;
};

/// For SwapSpaceOptions::engine_factory.
std::unique_ptr<io::Engine> make_fault_engine(std::shared_ptr<FaultControl> control);

}  // namespace stepwell::test
