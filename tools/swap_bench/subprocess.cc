#include "tools/swap_bench/subprocess.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/format.h"
#include "tools/common/signals.h"

namespace stepwell::swap_bench {
namespace {

constexpr int kPollMilliseconds = 50;  // until a signal is noticed

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(std::size_t index) {
    if (ends[index] >= 0) {
      ::close(ends[index]);
      ends[index] = -1;
    }
  }
};

/// Starts the program in a process group of its own, so that Ctrl-C reaches us only.
int spawn(const std::vector<std::string>& arguments, Pipe& out, Pipe& err, pid_t& child) {
  std::vector<std::string> copies = arguments;
  std::vector<char*> argv;
  for (std::string& argument : copies) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int failed = ::posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

/// False at the end of the pipe.
bool drain(int fd, std::string& text) {
  std::array<char, 16384> piece{};
  const ssize_t count = ::read(fd, piece.data(), piece.size());
  if (count > 0) {
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  return count > 0 || (count < 0 && errno == EINTR);
}

/// Reads both pipes to their end. False when a signal asked to stop.
bool collect(Pipe& out, Pipe& err, ProcessOutcome& outcome) {
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    std::array<pollfd, 2> fds{pollfd{.fd = out.ends[0], .events = POLLIN, .revents = 0},
                              pollfd{.fd = err.ends[0], .events = POLLIN, .revents = 0}};
    ::poll(fds.data(), fds.size(), kPollMilliseconds);
    if (tools::stop_signal() != 0) {
      return false;
    }
    if (fds[0].revents != 0 && !drain(out.ends[0], outcome.output)) {
      out.close_end(0);
    }
    if (fds[1].revents != 0 && !drain(err.ends[0], outcome.errors)) {
      err.close_end(0);
    }
  }
  return true;
}

}  // namespace

std::string find_program(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = concat(folder, '/', program);
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return {};
}

Result<ProcessOutcome> run_process(const std::vector<std::string>& arguments) {
  Pipe out;
  Pipe err;
  if (::pipe2(out.ends.data(), O_CLOEXEC) != 0 || ::pipe2(err.ends.data(), O_CLOEXEC) != 0) {
    return Status::from_errno(errno, "making a pipe to " + arguments[0]);
  }
  pid_t child = 0;
  if (const int failed = spawn(arguments, out, err, child); failed != 0) {
    return Status::from_errno(failed, "starting " + arguments[0]);
  }
  out.close_end(1);
  err.close_end(1);
  ProcessOutcome outcome;
  const bool finished = collect(out, err, outcome);
  if (!finished) {
    ::kill(-child, SIGTERM);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!finished) {
    return Status(StatusCode::kCancelled, arguments[0] + " was ended by a signal");
  }
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return outcome;
}

}  // namespace stepwell::swap_bench
