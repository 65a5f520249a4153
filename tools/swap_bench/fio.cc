#include "tools/swap_bench/fio.h"

#include <nlohmann/json.hpp>

#include "src/base/format.h"
#include "tools/swap_bench/subprocess.h"

namespace stepwell::swap_bench {

Status check_fio() {
  if (find_program("fio").empty()) {
    return {StatusCode::kNotFound, "fio is not installed: apt-get install fio"};
  }
  return {};
}

std::vector<std::string> fio_arguments(const FioJob& job) {
  const char* const pattern = job.workload == Workload::kRead    ? "read"
                              : job.workload == Workload::kWrite ? "write"
                                                                 : "rw";
  std::string path;
  for (const char letter : job.path) {
    // fio takes ':' for the end of a name.
    path += letter == ':' ? std::string("\\:") : std::string(1, letter);
  }
  std::vector<std::string> arguments;
  if (job.huge_pages) {
    arguments = {"env", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"};
  }
  arguments.insert(arguments.end(),
                   {"fio",
                    "--name=swap-bench",
                    "--filename=" + path,
                    concat("--size=", job.size_bytes),
                    concat("--rw=", pattern),
                    concat("--ioengine=", io::to_string(job.engine)),
                    concat("--bs=", job.block_bytes),
                    concat("--iodepth=", job.queue_depth),
                    "--direct=1",
                    "--thread=1",
                    "--time_based=1",
                    concat("--runtime=", job.duration.count(), "ms"),
                    "--output-format=json"});
  if (job.registered && job.engine == io::EngineKind::kUring) {
    arguments.insert(arguments.end(), {"--fixedbufs=1", "--registerfiles=1"});
  }
  return arguments;
}

Result<Rates> parse_fio(const std::string& output) {
  // Warnings may stand before the object.
  const std::size_t begin = output.find('{');
  const nlohmann::json json = nlohmann::json::parse(
      begin == std::string::npos ? std::string() : output.substr(begin), nullptr, false);
  if (!json.is_object() || !json.contains("jobs") || !json["jobs"].is_array() ||
      json["jobs"].empty() || !json["jobs"][0].is_object()) {
    return Status(StatusCode::kCorrupt, "fio's output is not what it used to be: " + output);
  }
  const nlohmann::json& job = json["jobs"][0];
  const auto rate = [&](const char* direction) {
    const nlohmann::json part = job.value(direction, nlohmann::json::object());
    return part.is_object() && part.contains("bw_bytes") && part["bw_bytes"].is_number()
               ? part["bw_bytes"].get<double>()
               : 0.0;
  };
  return Rates{.read = rate("read"), .write = rate("write")};
}

Result<Rates> run_fio(const FioJob& job) {
  const Result<ProcessOutcome> outcome = run_process(fio_arguments(job));
  STEPWELL_RETURN_IF_ERROR(outcome.status());
  if (outcome.value().status != 0) {
    return Status(
        StatusCode::kIo,
        concat("fio ended with status ",
               outcome.value().status,
               ": ",
               outcome.value().errors.empty() ? outcome.value().output : outcome.value().errors));
  }
  Result<Rates> rates = parse_fio(outcome.value().output);
  if (rates.ok() && rates.value().total() <= 0) {
    return Status(StatusCode::kIo, "fio moved no bytes: " + outcome.value().errors);
  }
  return rates;
}

}  // namespace stepwell::swap_bench
