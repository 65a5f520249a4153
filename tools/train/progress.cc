#include "tools/train/progress.h"

#include <cerrno>
#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "src/base/format.h"
#include "stepwell/status.h"

namespace stepwell::train {
namespace {

/// A terminal's line is rewritten at most this often, so that its rates can be read.
constexpr double kLiveSeconds = 0.5;

std::string rate(std::uint64_t bytes, double seconds) {
  return format_rate(seconds > 0 ? static_cast<double>(bytes) / seconds : 0);
}

std::string line_of(const Totals& totals, std::uint64_t step, std::uint64_t steps) {
  const StepReport& moved = totals.report;
  return fmt::format(
      "step {:>5}/{}  loss {:.3f}  {:.0f} tokens/s  nvme read {} write {}  "
      "host>device {} device>host {}  stall {:.0f}%",
      step,
      steps,
      totals.mean_loss(),
      totals.tokens_per_second(),
      rate(moved.nvme_read_bytes, totals.seconds),
      rate(moved.nvme_written_bytes, totals.seconds),
      rate(moved.host_to_device_bytes, totals.seconds),
      rate(moved.device_to_host_bytes, totals.seconds),
      100 * totals.stall_share());
}

std::string phase_times(const Totals& totals) {
  const auto milliseconds = [&](double seconds) {
    return 1e3 * seconds / static_cast<double>(totals.steps);
  };
  return fmt::format("  forward {:.0f} ms backward {:.0f} ms step {:.0f} ms",
                     milliseconds(totals.report.forward_seconds),
                     milliseconds(totals.report.backward_seconds),
                     milliseconds(totals.report.step_seconds));
}

/// A reader that went away ends the run, as it does for any program of a pipe; a full disk behind
/// standard error does not.
void say(const std::string& text) {
  if (std::fputs(text.c_str(), stderr) < 0 && errno == EPIPE) {
    throw Error(Status::from_errno(EPIPE, "progress to standard error"));
  }
}

}  // namespace

Progress::Progress(const Options& options)
    : options_(options), live_(!options.quiet && ::isatty(STDERR_FILENO) == 1) {}

void Progress::on_step(const StepRecord& record) {
  if (options_.quiet) {
    return;
  }
  since_print_.add(record);
  unprinted_seconds_ += record.seconds;
  const bool due = live_ ? unprinted_seconds_ >= kLiveSeconds
                         : options_.print_every > 0 && record.step % options_.print_every == 0;
  if (due || record.step == 1 || record.step == options_.steps) {
    print(record.step);
  }
}

void Progress::print(std::uint64_t step) {
  std::string line = line_of(since_print_, step, options_.steps);
  if (options_.phase_times) {
    line += phase_times(since_print_);
  }
  if (live_) {
    say("\r" + line + "\x1b[K");
    line_open_ = true;
  } else {
    say(line + "\n");
  }
  std::fflush(stderr);
  since_print_ = Totals();
  unprinted_seconds_ = 0;
}

void Progress::on_evaluation(std::uint64_t step, double eval_loss, double bigram_loss) {
  if (options_.quiet) {
    return;
  }
  finish();
  say(fmt::format("step {:>5}/{}  held-out loss {:.3f} (bigram baseline {:.3f})\n",
                  step,
                  options_.steps,
                  eval_loss,
                  bigram_loss));
}

void Progress::finish() {
  if (line_open_) {
    say("\n");
    line_open_ = false;
  }
}

}  // namespace stepwell::train
