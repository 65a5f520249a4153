#include "tools/train/summary.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "src/base/format.h"

namespace stepwell::train {
namespace {

std::string tier_text(const TierReport& tier) {
  const bool limited = tier.limit_bytes != std::numeric_limits<std::uint64_t>::max();
  return fmt::format("{:<9}{} of {} at its peak{}\n",
                     to_string(tier.tier),
                     format_bytes(tier.peak_bytes),
                     limited ? format_bytes(tier.limit_bytes) : "no limit",
                     tier.holders.empty() ? "" : fmt::format(" (now {})", tier.holders));
}

std::string moved_text(const Totals& totals) {
  const std::uint64_t steps = std::max<std::uint64_t>(1, totals.steps);
  const StepReport& report = totals.report;
  return fmt::format(
      "moved    per step: nvme {} read, {} written; {} host to device, {} device to host\n",
      format_bytes(report.nvme_read_bytes / steps),
      format_bytes(report.nvme_written_bytes / steps),
      format_bytes(report.host_to_device_bytes / steps),
      format_bytes(report.device_to_host_bytes / steps));
}

std::string loss_text(const Summary& summary) {
  return fmt::format(
      "loss     {:.4f} in training (mean of the last {} steps), {:.4f} held out ({} windows)\n"
      "bigram   {:.4f}: the held-out loss is {:.4f} nats a byte {} it\n",
      summary.train_loss,
      summary.train_loss_steps,
      summary.eval_loss,
      summary.eval_windows,
      summary.bigram_loss,
      std::abs(summary.bigram_loss - summary.eval_loss),
      summary.below_bigram() ? "below" : "above");
}

}  // namespace

std::string summary_text(const Summary& summary) {
  const Totals& totals = summary.totals;
  std::string text =
      fmt::format("model    {} parameters, {} in {}; gradients {}, optimizer states {}\n",
                  summary.parameters,
                  format_bytes(summary.parameter_bytes),
                  summary.precision,
                  format_bytes(summary.gradient_bytes),
                  format_bytes(summary.optimizer_bytes));
  text += fmt::format("data     {}\n", summary.data);
  for (const TierReport& tier : summary.memory.tiers) {
    text += tier_text(tier);
  }
  if (!summary.memory.swap_description.empty()) {
    text += fmt::format("swap     {}\n", summary.memory.swap_description);
  }
  for (const std::string& complaint : summary.memory.swap_complaints) {
    text += fmt::format("warning  {}\n", complaint);
  }
  text += moved_text(totals);
  text += fmt::format("time     {} steps{} in {:.1f} s: {:.0f} tokens/s, stalled {:.1f} % of it\n",
                      totals.steps,
                      totals.skipped == 0 ? "" : fmt::format(" ({} skipped)", totals.skipped),
                      totals.seconds,
                      totals.tokens_per_second(),
                      100 * totals.stall_share());
  text +=
      fmt::format("process  {} resident at its peak\n", format_bytes(summary.peak_resident_bytes));
  text += loss_text(summary);
  if (summary.stopped_by != 0) {
    text += fmt::format("ended early by signal {}\n", summary.stopped_by);
  }
  return text;
}

}  // namespace stepwell::train
