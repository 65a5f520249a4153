// The program `swap-bench`: run, tune, fio, verify.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "io/placement.h"
#include "src/base/format.h"
#include "stepwell/log.h"
#include "tools/common/signals.h"
#include "tools/swap_bench/arguments.h"
#include "tools/swap_bench/compare.h"
#include "tools/swap_bench/options.h"
#include "tools/swap_bench/run.h"
#include "tools/swap_bench/tune.h"
#include "tools/swap_bench/verify.h"

namespace stepwell::swap_bench {
namespace {

constexpr std::uint32_t kDepthMax = 4096;   // as aio.queue_depth
constexpr std::uint32_t kThreadsMax = 256;  // as aio.intra_op_parallelism

/// An option whose text `parse` turns into `value`, or into the error of the command line.
template <class T, class Parse>
CLI::Option* add(CLI::App& command,
                 const std::string& name,
                 T& value,
                 const Parse& parse,
                 const std::string& description) {
  return command.add_option_function<std::string>(
      name,
      [&value, parse, name](const std::string& text) {
        Result<T> parsed = parse(text);
        if (!parsed.ok()) {
          throw CLI::ValidationError(name, parsed.status().message());
        }
        value = std::move(parsed).value();
      },
      description);
}

Result<double> parse_seconds(const std::string& text) {
  double value = 0;
  const bool right =
      CLI::detail::lexical_cast(text, value) && std::isfinite(value) && value > 0 && value <= 86400;
  if (!right) {
    return Status(StatusCode::kInvalidArgument,
                  concat("'", text, "' is no number of seconds above 0 and up to 86400"));
  }
  return value;
}

auto counts(std::uint32_t most) {
  return [most](const std::string& text) { return parse_counts(text, most); };
}

auto count(std::uint32_t most) {
  return [most](const std::string& text) { return parse_count(text, most); };
}

/// "auto" is what is to be found out.
Result<std::vector<io::EngineKind>> parse_tuned_engines(const std::string& text) {
  Result<std::vector<io::EngineKind>> all = parse_engines(text);
  if (all.ok() && std::count(all.value().begin(), all.value().end(), io::EngineKind::kAuto) > 0) {
    return Status(StatusCode::kInvalidArgument, "'auto' is no engine: io_uring, libaio, threads");
  }
  return all;
}

void add_files(CLI::App& command, TestFilesOptions& files) {
  command.add_option("--path", files.folders, "Folder on the disk; several make one volume")
      ->required()
      ->type_name("DIR")
      ->expected(1, 64);
  add(
      command,
      "--size",
      files.size_bytes,
      [](const std::string& text) -> Result<std::uint64_t> {
        Result<std::uint64_t> size = parse_size(text);
        if (size.ok() && size.value() % (4 * kKiB) != 0) {
          return Status(StatusCode::kInvalidArgument, concat("'", text, "' is no multiple of 4K"));
        }
        return size;
      },
      concat("Of the test file in each folder [", format_size(files.size_bytes), "]"))
      ->type_name("SIZE");
  command
      .add_option("--cpus",
                  files.cpus,
                  "Cores of the I/O threads: any, near (the device's NUMA node), or 0-3,8 [any]")
      ->type_name("LIST")
      ->check([](const std::string& text) {
        const auto cpus = io::cpus_for(text, "/");
        return cpus.ok() ? std::string() : cpus.status().message();
      });
  command.add_flag("--allow-memory",
                   files.allow_memory,
                   "Measure a file system in memory too (the figures say nothing about a disk)");
}

void add_buffered(CLI::App& command, TestFilesOptions& files) {
  command.add_flag("--buffered",
                   files.buffered,
                   "Through the page cache, flushed and dropped before each measurement, for file "
                   "systems that refuse direct I/O; only read and write");
}

void add_output(CLI::App& command, OutputOptions& output) {
  command.add_flag("--json", output.json, "JSON on standard output instead of the table");
  command.add_option("--output", output.path, "JSON into this file too")->type_name("FILE");
}

CLI::Option* add_seconds(CLI::App& command, double& seconds, const std::string& description) {
  return add(command,
             "--seconds",
             seconds,
             parse_seconds,
             fmt::format("{} [{:g}]", description, seconds))
      ->type_name("N");
}

void add_run(CLI::App& app, RunOptions& options) {
  CLI::App& command = *app.add_subcommand("run", "Measure workloads under chosen settings");
  add_files(command, options.files);
  add_buffered(command, options.files);
  add(command,
      "--workload",
      options.workloads,
      parse_workloads,
      "read, write, mixed, layer-walk (forward reads each layer, backward reads it again and "
      "writes "
      "it back) [all]")
      ->type_name("LIST");
  add(command,
      "--block-size",
      options.block_sizes,
      parse_block_sizes,
      "Of one call to the kernel [128K,1M]")
      ->type_name("LIST");
  add(command,
      "--queue-depth",
      options.queue_depths,
      counts(kDepthMax),
      "Calls in flight for each thread [32]")
      ->type_name("LIST");
  add(command,
      "--threads",
      options.thread_counts,
      counts(kThreadsMax),
      "I/O threads (rings) of each path [1]")
      ->type_name("LIST");
  add(command,
      "--engine",
      options.engines,
      parse_engines,
      "auto, io_uring, libaio, threads [auto: the first that works]")
      ->type_name("LIST");
  add(command, "--layer-bytes", options.layer_bytes, parse_size, "Of a layer of layer-walk [64M]")
      ->type_name("SIZE");
  add_seconds(command, options.seconds, "For each measurement");
  add_output(command, options.output);
}

void add_fio(CLI::App& app, FioOptions& options) {
  CLI::App& command =
      *app.add_subcommand("fio", "Our engine and fio in turns on the same file (needs fio)");
  options.files.size_bytes = kGiB;
  add_files(command, options.files);
  add(
      command,
      "--workload",
      options.workloads,
      [](const std::string& text) -> Result<std::vector<Workload>> {
        Result<std::vector<Workload>> all = parse_workloads(text);
        if (all.ok() && std::count(all.value().begin(), all.value().end(), Workload::kLayerWalk)) {
          return Status(StatusCode::kInvalidArgument,
                        "fio knows no layer-walk: read, write, mixed");
        }
        return all;
      },
      "read, write, mixed [all]")
      ->type_name("LIST");
  add(command, "--block-size", options.block_sizes, parse_block_sizes, "[128K,1M,8M]")
      ->type_name("LIST");
  add(command, "--queue-depth", options.queue_depth, count(kDepthMax), "Of both [32]")
      ->type_name("N");
  add(command, "--rounds", options.rounds, count(1000), "Runs of each, in turns [3]")
      ->type_name("N");
  add_seconds(command, options.seconds, "For each run");
  command.add_flag(
      "--deepspeed", options.deepspeed, "DeepSpeed's ds_io too, where it is installed");
  add_output(command, options.output);
}

void add_verify(CLI::App& app, VerifyOptions& options) {
  CLI::App& command = *app.add_subcommand(
      "verify", "Random requests, many at a time; every block that is read is checked");
  options.files.size_bytes = 256 * kMiB;
  add_files(command, options.files);
  add(command, "--engine", options.engines, parse_engines, "Engines to verify [auto]")
      ->type_name("LIST");
  add_seconds(command, options.seconds, "In all");
  command.add_option("--seed", options.seed, "Of sizes, offsets and bytes [1]")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  add(command, "--queue-depth", options.queue_depth, count(kDepthMax), "Calls in flight [32]")
      ->type_name("N");
  add(command, "--threads", options.threads, count(kThreadsMax), "Rings of each path [2]")
      ->type_name("N");
}

void add_tune(CLI::App& app, TuneOptions& options) {
  CLI::App& command =
      *app.add_subcommand("tune", "Find the setting with the largest sum of read and write rate");
  add_files(command, options.files);
  add(command, "--engine", options.engines, parse_tuned_engines, "Engines to try [all that work]")
      ->type_name("LIST");
  add_seconds(command, options.seconds, "At most, in all");
  command
      .add_option(
          "--output",
          options.output_path,
          "Piece of a configuration, JSON [standard output; the rest goes to standard error]")
      ->type_name("FILE");
  command.add_option("--plot", options.plot_path, "Block size against bandwidth")
      ->type_name("FILE.svg");
}

int usage_error(const std::string& message) {
  std::fputs(concat("swap-bench: ", message, " (--help tells what there is)\n").c_str(), stderr);
  return kExitUsage;
}

/// Library messages belong to results, which name them once.
void quiet_library() {
  set_log_sink([](LogLevel level, const std::string& message) {
    if (level == LogLevel::kError) {
      std::fputs(concat("swap-bench: ", message, '\n').c_str(), stderr);
    }
  });
}

int run(int argc, char** argv) {
  CLI::App app("Measures and tunes disks with the I/O of Stepwell.");
  app.name("swap-bench");
  app.set_version_flag("--version", std::string("swap-bench ") + STEPWELL_VERSION);
  app.require_subcommand(0, 1);
  app.footer(
      "Files are removed at the end, also after an error or a signal.\n"
      "Exit status: 0 done; 1 failed or a result is refused; 2 wrong command line; 129, 130, 143 "
      "ended by\nSIGHUP, SIGINT, SIGTERM.");
  RunOptions run_options;
  TuneOptions tune_options;
  FioOptions fio_options;
  VerifyOptions verify_options;
  add_run(app, run_options);
  add_tune(app, tune_options);
  add_fio(app, fio_options);
  add_verify(app, verify_options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return app.exit(error);
    }
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    return usage_error(message);
  }
  tools::install_signal_handlers("\nswap-bench: ending; once more to end at once\n");
  quiet_library();
  if (app.got_subcommand("run")) {
    return run_command(run_options);
  }
  if (app.got_subcommand("tune")) {
    return tune_command(tune_options);
  }
  if (app.got_subcommand("fio")) {
    return fio_command(fio_options);
  }
  if (app.got_subcommand("verify")) {
    return verify_command(verify_options);
  }
  return usage_error("a command is needed: run, tune, fio or verify");
}

}  // namespace

}  // namespace stepwell::swap_bench

int main(int argc, char** argv) {
  try {
    return stepwell::swap_bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fputs(stepwell::concat("swap-bench: ", error.what(), '\n').c_str(), stderr);
    return stepwell::swap_bench::kExitFailure;
  }
}
