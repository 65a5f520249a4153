#include "tools/train/train_run.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/format.h"
#include "src/data/bigram.h"
#include "src/data/text.h"
#include "stepwell/bytes.h"
#include "stepwell/log.h"
#include "swap/swap_file.h"
#include "tools/common/signals.h"
#include "tools/train/learning_rate.h"
#include "tools/train/process.h"
#include "tools/train/progress.h"
#include "tools/train/run_log.h"
#include "tools/train/summary.h"
#include "tools/train/swap_folder.h"
#include "tools/train/trainer.h"

namespace stepwell::train {
namespace {

constexpr std::uint64_t kSumsBytes = kMiB;
constexpr std::uint64_t kLossSteps = 20;          // that the training loss of the summary averages
constexpr std::uint64_t kDefaultPrintSteps = 10;  // without steps_per_print

/// Everything a run is made from, checked.
struct Inputs {
  Config config;
  data::Text text;
  std::string text_name;
  RunLog log;
  SwapFolder folder;
};

Status apply_overrides(const TrainOptions& options, Config& config) {
  bool uses_nvme = false;
  for (OffloadConfig* offload : {&config.zero.offload_param, &config.zero.offload_optimizer}) {
    if (offload->device == OffloadDevice::kNvme) {
      uses_nvme = true;
      offload->nvme_path = options.nvme_path.empty() ? offload->nvme_path : options.nvme_path;
    }
  }
  if (!options.nvme_path.empty() && !uses_nvme) {
    return {StatusCode::kInvalidArgument,
            concat("--nvme-path: ",
                   options.config_path,
                   " offloads nothing to \"nvme\"; set the device of offload_param or "
                   "offload_optimizer")};
  }
  config.stepwell.device_bytes = options.device_bytes.value_or(config.stepwell.device_bytes);
  config.stepwell.host_bytes = options.host_bytes.value_or(config.stepwell.host_bytes);
  config.optimizer.lr = options.lr.value_or(config.optimizer.lr);
  return {};
}

Result<Config> load_config(const TrainOptions& options) {
  Result<Config> config = Config::load(options.config_path);
  STEPWELL_RETURN_IF_ERROR(config.status());
  if (!config.value().has_optimizer) {
    return Status(StatusCode::kInvalidArgument,
                  concat(options.config_path,
                         " has no \"optimizer\" section, so there is nothing to train with; add "
                         "\"optimizer\": {\"type\": \"AdamW\"}"));
  }
  STEPWELL_RETURN_IF_ERROR(apply_overrides(options, config.value()));
  return config;
}

Result<Inputs> prepare(const TrainOptions& options) {
  const ModelShape& model = options.model;
  if (model.width % model.heads != 0) {
    return Status(StatusCode::kInvalidArgument,
                  concat("--width ", model.width, " is not a multiple of --heads ", model.heads));
  }
  Result<Config> config = load_config(options);
  STEPWELL_RETURN_IF_ERROR(config.status());
  const std::string text_name = options.data_path.empty() ? "generated sums" : options.data_path;
  Result<data::Text> text = options.data_path.empty()
                                ? Result<data::Text>(data::make_sums(options.seed, kSumsBytes))
                                : data::load_text(options.data_path);
  STEPWELL_RETURN_IF_ERROR(text.status());
  STEPWELL_RETURN_IF_ERROR(
      data::check_length(text.value(), text_name, static_cast<std::uint64_t>(model.context) + 1));
  for (const std::string& input : {options.data_path, options.config_path}) {
    std::error_code missing;
    if (!options.log_path.empty() && !input.empty() &&
        std::filesystem::equivalent(options.log_path, input, missing)) {
      return Status(
          StatusCode::kInvalidArgument,
          concat("--log ", options.log_path, " would overwrite ", input, "; name another file"));
    }
  }
  Result<SwapFolder> folder = SwapFolder::prepare(config.value());
  STEPWELL_RETURN_IF_ERROR(folder.status());
  // Last: it empties the file.
  Result<RunLog> log = RunLog::open(options.log_path);
  STEPWELL_RETURN_IF_ERROR(log.status());
  return Inputs{.config = std::move(config).value(),
                .text = std::move(text).value(),
                .text_name = text_name,
                .log = std::move(log).value(),
                .folder = std::move(folder).value()};
}

/// Sizes of the training state of a model.
void describe_state(const Config& config, Summary& summary) {
  const bool bf16 = config.precision == Precision::kBf16;
  summary.precision = bf16 ? "bf16" : "fp32";
  summary.parameter_bytes = summary.parameters * (bf16 ? 2 : 4);
  summary.gradient_bytes = summary.parameters * 4;
  summary.optimizer_bytes = summary.parameters * (bf16 ? 12 : 8);
}

/// The loop and what it keeps.
class Run {
 public:
  Run(const TrainOptions& options, Inputs& inputs)
      : options_(options),
        inputs_(inputs),
        bigram_loss_(data::bigram_nats_per_byte(inputs.text.train, inputs.text.held_out)),
        trainer_({.model = options.model,
                  .seed = options.seed,
                  .eval_windows = options.eval_windows,
                  .stopping = [] { return tools::stop_signal() != 0; }},
                 inputs.config,
                 inputs.text),
        progress_({.steps = options.steps,
                   .print_every = inputs.config.steps_per_print.value_or(kDefaultPrintSteps),
                   .phase_times = inputs.config.wall_clock_breakdown,
                   .quiet = options.quiet}) {}

  Summary train() {
    const LearningRate schedule{.peak = inputs_.config.optimizer.lr,
                                .warmup_steps = options_.warmup_steps,
                                .steps = options_.steps};
    for (std::uint64_t step = 1; step <= options_.steps && tools::stop_signal() == 0; ++step) {
      StepRecord record = trainer_.train_step(step, schedule.at(step));
      totals_.add(record);
      losses_.push_back(record.loss);
      progress_.on_step(record);
      if (is_evaluated(step)) {
        record.eval_loss = evaluate(step);
      }
      throw_if_error(inputs_.log.write(record));
    }
    const double eval_loss = evaluate(losses_.size());
    progress_.finish();
    return summarise(eval_loss);
  }

 private:
  /// The last step is evaluated at the end anyway.
  bool is_evaluated(std::uint64_t step) const {
    return options_.eval_every > 0 && step % options_.eval_every == 0 && step != options_.steps;
  }

  double evaluate(std::uint64_t step) {
    const double loss = trainer_.evaluate();
    progress_.on_evaluation(step, loss, bigram_loss_);
    return loss;
  }

  Summary summarise(double eval_loss) const {
    const std::size_t averaged = std::min<std::size_t>(losses_.size(), kLossSteps);
    Summary summary{.parameters = trainer_.parameters(),
                    .data = inputs_.text_name,
                    .memory = trainer_.memory_report(),
                    .peak_resident_bytes = peak_resident_bytes(),
                    .totals = totals_,
                    .train_loss_steps = averaged,
                    .eval_loss = eval_loss,
                    .eval_windows = trainer_.eval_windows(),
                    .bigram_loss = bigram_loss_,
                    .stopped_by = tools::stop_signal()};
    if (averaged > 0) {
      const auto first = losses_.end() - static_cast<std::ptrdiff_t>(averaged);
      summary.train_loss =
          std::accumulate(first, losses_.end(), 0.0) / static_cast<double>(averaged);
    }
    describe_state(inputs_.config, summary);
    return summary;
  }

  const TrainOptions& options_;
  Inputs& inputs_;
  const double bigram_loss_;
  Trainer trainer_;
  Progress progress_;
  Totals totals_;
  std::vector<double> losses_;
};

int exit_status(const TrainOptions& options, const Summary& summary) {
  if (summary.stopped_by != 0) {
    return 128 + summary.stopped_by;
  }
  if (options.require_below_bigram && !summary.below_bigram()) {
    fmt::print(stderr,
               "stepwell: --require-below-bigram: the held-out loss {:.4f} is not below the bigram "
               "baseline {:.4f}; train for more --steps\n",
               summary.eval_loss,
               summary.bigram_loss);
    return kExitNotBelowBigram;
  }
  return kExitOk;
}

}  // namespace

int run_train(const TrainOptions& options) {
  if (options.quiet) {
    set_log_level(LogLevel::kWarning);
  }
  std::vector<tools::RemovedBySignal> removed;  // until the folder is taken away
  Result<Inputs> inputs = prepare(options);
  if (!inputs.ok()) {
    fmt::print(stderr, "stepwell: {}\n", inputs.status().to_string());
    return kExitUsage;
  }
  const SwapFolder& folder = inputs.value().folder;
  if (folder.made()) {
    removed.emplace_back(folder.path(), tools::RemovedBySignal::Kind::kFolder);
  }
  for (const std::string& file : swap::next_swap_files(folder.all(), 0)) {
    removed.emplace_back(file);
  }
  tools::install_signal_handlers("\nstepwell: ending after this step; once more to end at once\n");
  set_thread_count(options.threads);
  Run run(options, inputs.value());
  const Summary summary = run.train();
  throw_if_error(inputs.value().log.write(summary));
  fmt::print("{}\n", options.json ? summary_json(summary) : summary_text(summary));
  if (std::fflush(stdout) != 0) {
    throw Error(Status::from_errno(errno, "writing the summary to standard output"));
  }
  return exit_status(options, summary);
}

}  // namespace stepwell::train
