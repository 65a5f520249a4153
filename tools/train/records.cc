#include "tools/train/records.h"

namespace stepwell::train {

void Totals::add(const StepRecord& record) {
  ++steps;
  skipped += record.applied ? 0 : 1;
  tokens += record.tokens;
  loss += record.loss;
  seconds += record.seconds;
  const StepReport& from = record.report;
  report.forward_seconds += from.forward_seconds;
  report.backward_seconds += from.backward_seconds;
  report.step_seconds += from.step_seconds;
  report.stall_seconds += from.stall_seconds;
  if (from.longest_stall_seconds > report.longest_stall_seconds) {
    report.longest_stall_seconds = from.longest_stall_seconds;
    report.longest_stall_page = from.longest_stall_page;
    report.longest_stall_operator = from.longest_stall_operator;
  }
  report.uses += from.uses;
  report.hits += from.hits;
  report.faults += from.faults;
  report.nvme_read_bytes += from.nvme_read_bytes;
  report.nvme_written_bytes += from.nvme_written_bytes;
  report.host_to_device_bytes += from.host_to_device_bytes;
  report.device_to_host_bytes += from.device_to_host_bytes;
}

}  // namespace stepwell::train
