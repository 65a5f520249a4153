#include "tools/swap_bench/deepspeed.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "src/base/format.h"
#include "stepwell/bytes.h"
#include "tools/swap_bench/subprocess.h"

namespace stepwell::swap_bench {
namespace {

namespace fs = std::filesystem;

/// How ds_io is started; empty when it is not there.
std::vector<std::string> ds_io_command() {
  if (const std::string program = find_program("ds_io"); !program.empty()) {
    return {program};
  }
  if (!find_program("python3").empty()) {
    const Result<ProcessOutcome> probe = run_process({"python3", "-c", "import deepspeed"});
    if (probe.ok() && probe.value().status == 0) {
      return {"python3", "-c", "from deepspeed.nvme import ds_io_main; ds_io_main()"};
    }
  }
  return {};
}

}  // namespace

Status check_ds_io() {
  if (ds_io_command().empty()) {
    return {StatusCode::kNotFound,
            "DeepSpeed is not installed (no ds_io, no Python module deepspeed): left out"};
  }
  return {};
}

Result<double> parse_ds_io(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::string lower = line;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char letter) {
      return static_cast<char>(std::tolower(letter));
    });
    const std::size_t equals = lower.find('=');
    if (equals == std::string::npos || lower.find("e2e") == std::string::npos ||
        lower.find("speed") == std::string::npos) {
      continue;
    }
    double value = 0;
    if (std::istringstream(line.substr(equals + 1)) >> value && value > 0) {
      return value * static_cast<double>(kGiB);
    }
  }
  return Status(StatusCode::kCorrupt, "ds_io printed no end-to-end speed: " + output);
}

Result<double> run_ds_io(const TestFiles& files, const CompareOptions& options) {
  // ds_io leaves its files behind: it gets a folder that goes away.
  const fs::path folder = files.path(0) + ".ds_io";
  std::error_code error;
  if (!fs::create_directory(folder, error) && error) {
    return Status::from_errno(error.value(), "making " + folder.string());
  }
  std::vector<std::string> arguments = ds_io_command();
  for (const std::string& argument : {std::string("--folder"),
                                      folder.string(),
                                      std::string("--io_size"),
                                      concat(align_down(files.size_bytes(), options.block_bytes)),
                                      std::string("--block_size"),
                                      concat(options.block_bytes),
                                      std::string("--queue_depth"),
                                      concat(options.queue_depth)}) {
    arguments.push_back(argument);
  }
  if (options.workload == Workload::kRead) {
    arguments.emplace_back("--read");
  }
  const Result<ProcessOutcome> outcome = run_process(arguments);
  fs::remove_all(folder, error);
  STEPWELL_RETURN_IF_ERROR(outcome.status());
  if (outcome.value().status != 0) {
    return Status(
        StatusCode::kIo,
        concat("ds_io ended with status ", outcome.value().status, ": ", outcome.value().errors));
  }
  return parse_ds_io(outcome.value().output);
}

}  // namespace stepwell::swap_bench
