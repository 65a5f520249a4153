// The program `stepwell`: train, doctor, config.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>

#include "src/base/format.h"
#include "stepwell/config.h"
#include "stepwell/status.h"
#include "tools/train/doctor.h"
#include "tools/train/options.h"
#include "tools/train/train_run.h"

namespace stepwell::train {
namespace {

/// A whole number from `least` on. CLI11's own conversion would wrap a negative one around.
CLI::Validator at_least(std::uint64_t least) {
  return {[least](const std::string& text) {
            std::uint64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [parsed, error] = std::from_chars(text.data(), end, value);
            const bool right = error == std::errc() && parsed == end && value >= least &&
                               value <= std::numeric_limits<std::int32_t>::max();
            return right
                       ? std::string()
                       : fmt::format("'{}' is no whole number from {} to 2147483647", text, least);
          },
          ""};
}

CLI::Validator positive() {
  return {[](const std::string& text) {
            double value = 0;
            const bool right =
                CLI::detail::lexical_cast(text, value) && std::isfinite(value) && value > 0;
            return right ? std::string() : fmt::format("'{}' is no number above 0", text);
          },
          ""};
}

/// A number of bytes, with a unit or without.
CLI::Validator size() {
  return {[as_size = CLI::AsSizeValue(/*kb_is_1000=*/true)](std::string& text) {
            const std::string given = text;
            // Nineteen digits are below what overflows.
            const bool right = given.find_first_of("-.") == std::string::npos &&
                               given.find_first_not_of("0123456789") != 0 &&
                               std::min(given.find_first_not_of("0123456789"), given.size()) < 19 &&
                               as_size(text).empty() &&
                               text.find_first_not_of('0') != std::string::npos;
            return right ? std::string()
                         : fmt::format("'{}' is no size like 8388608, 8MiB or 64MiB", given);
          },
          ""};
}

void add_train_inputs(CLI::App& command, TrainOptions& options) {
  command.add_option("--config", options.config_path, "JSON configuration, as for DeepSpeed")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--data",
                  options.data_path,
                  "Text to learn, a token a byte; its last tenth measures. Without it: generated "
                  "sums")
      ->type_name("FILE");
  command.add_option("--log", options.log_path, "Write a JSON object a step, and the summary")
      ->type_name("FILE.jsonl");
  command.add_flag("--json", options.json, "Summary as JSON on standard output");
  command.add_flag("--quiet", options.quiet, "No progress, only warnings and the summary");
}

void add_train_schedule(CLI::App& command, TrainOptions& options) {
  command.add_option("--steps", options.steps, "Optimizer steps")
      ->capture_default_str()
      ->check(at_least(1));
  command.add_option("--lr", options.lr, "Peak learning rate instead of the configuration's")
      ->check(positive());
  command
      .add_option(
          "--warmup-steps", options.warmup_steps, "Linear warm-up; then a cosine down to a tenth")
      ->capture_default_str()
      ->check(at_least(0));
  command.add_option("--seed", options.seed, "Of weights and batches")
      ->capture_default_str()
      ->check(at_least(0));
  command.add_option("--eval-every", options.eval_every, "Measure the held-out loss each N steps")
      ->check(at_least(0))
      ->type_name("N");
  command.add_option("--eval-windows", options.eval_windows, "Held-out windows measured")
      ->capture_default_str()
      ->check(at_least(1));
  command.add_flag("--require-below-bigram",
                   options.require_below_bigram,
                   "Exit with 3 unless the held-out loss ends below the bigram baseline");
}

void add_train_machine(CLI::App& command, TrainOptions& options) {
  ModelShape& model = options.model;
  command.add_option("--layers", model.layers, "Blocks")->capture_default_str()->check(at_least(1));
  command.add_option("--width", model.width, "Of the residual stream")
      ->capture_default_str()
      ->check(at_least(1));
  command.add_option("--heads", model.heads, "Of attention; divides the width")
      ->capture_default_str()
      ->check(at_least(1));
  command.add_option("--context", model.context, "Bytes a window")
      ->capture_default_str()
      ->check(at_least(1));
  command
      .add_option("--nvme-path",
                  options.nvme_path,
                  "Swap folder instead of the configuration's; made when only its last part is "
                  "missing")
      ->type_name("DIR");
  command.add_option("--device-bytes", options.device_bytes, "Budget of the device tier: 8MiB")
      ->transform(size())
      ->type_name("SIZE");
  command.add_option("--host-bytes", options.host_bytes, "Budget of the host tier: 64MiB")
      ->transform(size())
      ->type_name("SIZE");
  command.add_option("--threads", options.threads, "Threads of operators; 0: LibTorch decides")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
}

int print_config(const std::string& path) {
  const Result<Config> config = Config::load(path);
  if (!config.ok()) {
    fmt::print(stderr, "stepwell: {}\n", config.status().to_string());
    return kExitUsage;
  }
  fmt::print("{}\n", config.value().to_json());
  for (const std::string& note : config.value().notes) {
    fmt::print(stderr, "note: {}\n", note);
  }
  return kExitOk;
}

int usage_error(const std::string& message) {
  fmt::print(stderr, "stepwell: {} (--help tells what there is)\n", message);
  return kExitUsage;
}

int run(int argc, char** argv) {
  CLI::App app("Training with more model than the fast memory holds.");
  app.name("stepwell");
  app.set_version_flag("--version", std::string("stepwell ") + STEPWELL_VERSION);

  TrainOptions train;
  CLI::App& train_command = *app.add_subcommand("train", "Train a small decoder on a text");
  add_train_inputs(train_command, train);
  add_train_schedule(train_command, train);
  add_train_machine(train_command, train);
  train_command.footer(
      "Exit status: 0 done; 1 failed while running; 2 wrong command line, configuration or file;\n"
      "3 --require-below-bigram does not hold; 129, 130, 143 ended by SIGHUP, SIGINT, SIGTERM.");

  DoctorOptions doctor;
  CLI::App& doctor_command = *app.add_subcommand("doctor", "What of this machine can be used");
  doctor_command.add_option("--path", doctor.folder, "Folder to judge for swap")
      ->capture_default_str()
      ->type_name("DIR");

  std::string config_path;
  CLI::App& config_command =
      *app.add_subcommand("config", "Check a configuration and print what it means");
  config_command.add_option("file", config_path, "JSON configuration")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return app.exit(error);
    }
    return usage_error(error.what());
  }
  if (train_command.parsed()) {
    return run_train(train);
  }
  if (doctor_command.parsed()) {
    return run_doctor(doctor);
  }
  if (config_command.parsed()) {
    return print_config(config_path);
  }
  return usage_error("a command is needed: train, doctor or config");
}

}  // namespace
}  // namespace stepwell::train

namespace {

/// Gives closed standard streams a descriptor, so that no swap file or log gets their number. What
/// is written to a closed standard output fails then as on a full disk.
void open_standard_streams() {
  for (const auto& [fd, device] :
       {std::pair{0, "/dev/null"}, std::pair{1, "/dev/full"}, std::pair{2, "/dev/null"}}) {
    if (::fcntl(fd, F_GETFD) < 0) {
      [[maybe_unused]] const int opened = ::open(device, fd == 0 ? O_RDONLY : O_WRONLY);
    }
  }
}

int fail(const std::string& message) {
  // Not fmt::print, which throws when standard error is closed.
  std::fputs(("stepwell: " + message + '\n').c_str(), stderr);
  return stepwell::train::kExitFailure;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  try {
    const int status = stepwell::train::run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return fail(stepwell::concat("writing to standard output: ", std::strerror(errno)));
    }
    return status;
  } catch (const std::bad_alloc&) {
    return fail("the system gives no more memory; use a smaller model, batch or --eval-windows");
  } catch (const std::exception& error) {
    const std::string text = error.what();
    // LibTorch adds a listing of its own calls, which tells a user nothing.
    return fail(text.substr(0, text.find("\nException raised from")));
  }
}
