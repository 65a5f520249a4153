#include "tools/train/run_log.h"

#include <cerrno>
#include <cstdint>
#include <limits>

#include <nlohmann/json.hpp>

#include "src/base/format.h"

namespace stepwell::train {
namespace {

using Json = nlohmann::ordered_json;

void add_report(Json& json, const StepReport& report) {
  json["forward_seconds"] = report.forward_seconds;
  json["backward_seconds"] = report.backward_seconds;
  json["step_seconds"] = report.step_seconds;
  json["stall_seconds"] = report.stall_seconds;
  json["longest_stall"] = {{"seconds", report.longest_stall_seconds},
                           {"page", report.longest_stall_page},
                           {"operator", report.longest_stall_operator}};
  json["page_uses"] = report.uses;
  json["page_faults"] = report.faults;
  json["nvme_read_bytes"] = report.nvme_read_bytes;
  json["nvme_written_bytes"] = report.nvme_written_bytes;
  json["host_to_device_bytes"] = report.host_to_device_bytes;
  json["device_to_host_bytes"] = report.device_to_host_bytes;
}

Json step_object(const StepRecord& record) {
  Json json = {{"step", record.step}, {"loss", record.loss}, {"lr", record.lr}};
  json["grad_norm"] = record.grad_norm ? Json(*record.grad_norm) : Json(nullptr);
  json["applied"] = record.applied;
  json["tokens"] = record.tokens;
  json["seconds"] = record.seconds;
  if (record.eval_loss) {
    json["eval_loss"] = *record.eval_loss;
  }
  add_report(json, record.report);
  return json;
}

Json memory_object(const MemoryReport& memory) {
  Json json = {{"pages", memory.page_count}, {"page_bytes", memory.page_bytes}};
  for (const TierReport& tier : memory.tiers) {
    const bool limited = tier.limit_bytes != std::numeric_limits<std::uint64_t>::max();
    json[to_string(tier.tier)] = {{"limit_bytes", limited ? Json(tier.limit_bytes) : Json(nullptr)},
                                  {"peak_bytes", tier.peak_bytes},
                                  {"used_bytes", tier.used_bytes}};
  }
  json["swap"] = memory.swap_description;
  json["swap_complaints"] = memory.swap_complaints;
  return json;
}

Json summary_object(const Summary& summary) {
  const Totals& totals = summary.totals;
  Json run = {{"steps", totals.steps},
              {"skipped_steps", totals.skipped},
              {"tokens", totals.tokens},
              {"seconds", totals.seconds},
              {"tokens_per_second", totals.tokens_per_second()},
              {"stall_share", totals.stall_share()}};
  add_report(run, totals.report);
  return {{"parameters", summary.parameters},
          {"parameter_bytes", summary.parameter_bytes},
          {"optimizer_bytes", summary.optimizer_bytes},
          {"gradient_bytes", summary.gradient_bytes},
          {"precision", summary.precision},
          {"data", summary.data},
          {"train_loss", summary.train_loss},
          {"eval_loss", summary.eval_loss},
          {"eval_windows", summary.eval_windows},
          {"bigram_loss", summary.bigram_loss},
          {"below_bigram", summary.below_bigram()},
          {"stopped_by_signal", summary.stopped_by},
          {"peak_resident_bytes", summary.peak_resident_bytes},
          {"memory", memory_object(summary.memory)},
          {"totals", run}};
}

/// Names come from the user's model: bytes that are not UTF-8 are replaced, never thrown at.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string summary_json(const Summary& summary) {
  return dump(summary_object(summary));
}

Result<RunLog> RunLog::open(const std::string& path) {
  RunLog log(path);
  if (!path.empty()) {
    log.file_.open(path, std::ios::trunc);
    if (!log.file_) {
      return Status::from_errno(errno, concat("opening log ", path));
    }
  }
  return log;
}

Status RunLog::write(const StepRecord& record) {
  return write_line(path_.empty() ? std::string() : dump(step_object(record)));
}

Status RunLog::write(const Summary& summary) {
  return write_line(path_.empty() ? std::string()
                                  : dump(Json{{"summary", summary_object(summary)}}));
}

Status RunLog::write_line(const std::string& line) {
  if (path_.empty()) {
    return {};
  }
  errno = 0;
  file_ << line << '\n' << std::flush;
  if (!file_) {
    return Status::from_errno(errno != 0 ? errno : EIO, concat("writing log ", path_));
  }
  return {};
}

}  // namespace stepwell::train
