#include "tools/swap_bench/tune.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "src/base/format.h"
#include "tools/common/signals.h"
#include "tools/swap_bench/arguments.h"
#include "tools/swap_bench/measure.h"
#include "tools/swap_bench/progress.h"
#include "tools/swap_bench/report.h"

namespace stepwell::swap_bench {
namespace {

using std::chrono::nanoseconds;

/// One direction of one slice.
constexpr nanoseconds kSlice = std::chrono::milliseconds(200);
/// Kept for measuring every path alone at the end.
constexpr nanoseconds kLastSlice = std::chrono::milliseconds(500);

nanoseconds now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

std::vector<io::EngineKind> working_engines() {
  std::vector<io::EngineKind> engines;
  for (const io::EngineKind kind :
       {io::EngineKind::kUring, io::EngineKind::kLibaio, io::EngineKind::kThreads}) {
    const Status made = io::Engine::create({.kind = kind}).status();
    if (made.ok()) {
      engines.push_back(kind);
    } else {
      note(concat("left out: ", io::to_string(kind), ": ", made.message()));
    }
  }
  return engines;
}

/// Reads, then writes.
Result<Rates> measure_both(const TestFiles& files,
                           Buffers& buffers,
                           const Setting& setting,
                           nanoseconds duration,
                           std::uint64_t& written) {
  Rates rates;
  for (const Workload workload : {Workload::kRead, Workload::kWrite}) {
    const Result<Measurement> measured =
        measure(files, buffers, workload, setting, {.duration = duration});
    STEPWELL_RETURN_IF_ERROR(measured.status());
    if (measured.value().stopped) {
      return Status(StatusCode::kCancelled, "ended by a signal");
    }
    written += measured.value().write_bytes;
    (workload == Workload::kRead ? rates.read : rates.write) = measured.value().total_rate();
  }
  return rates;
}

std::string table_of(const Tuned& tuned) {
  std::vector<const Trial*> trials;
  for (const Trial& trial : tuned.trials) {
    trials.push_back(&trial);
  }
  std::stable_sort(trials.begin(), trials.end(), [](const Trial* one, const Trial* other) {
    return one->score() > other->score();
  });
  std::vector<std::vector<std::string>> rows{
      {"engine", "block", "depth", "threads", "read", "write", "read + write", "slices"}};
  std::string failures;
  for (const Trial* trial : trials) {
    if (!trial->failure.empty()) {
      failures += concat("not measured: ", trial->setting.to_string(), ": ", trial->failure, '\n');
      continue;
    }
    rows.push_back({io::to_string(trial->setting.engine),
                    format_size(trial->setting.block_bytes),
                    concat(trial->setting.queue_depth),
                    concat(trial->setting.threads),
                    format_rate(trial->read_rate()),
                    format_rate(trial->write_rate()),
                    format_rate(trial->score()),
                    concat(trial->samples.size())});
  }
  return format_table(rows, 1) + failures;
}

/// One path has been measured alone already.
Result<std::vector<DeviceRates>> rates_of_devices(const TestFiles& files,
                                                  Buffers& buffers,
                                                  const Tuned& tuned,
                                                  std::uint64_t& written) {
  std::vector<DeviceRates> devices;
  for (std::size_t index = 0; index < files.count(); ++index) {
    const Trial& best = tuned.best_trial();
    Rates rates{.read = best.read_rate(), .write = best.write_rate()};
    if (files.count() > 1) {
      const TestFiles one = files.only(index);
      const Result<Rates> alone = measure_both(one, buffers, tuned.best, kLastSlice, written);
      STEPWELL_RETURN_IF_ERROR(alone.status());
      rates = alone.value();
    }
    devices.push_back({.path = files.folders()[index], .rates = rates});
  }
  return devices;
}

void say_result(const Tuned& tuned, std::uint64_t written, nanoseconds elapsed) {
  const Trial& best = tuned.best_trial();
  const std::string text = concat(
      "what was tried, best read + write rate first:\n",
      table_of(tuned),
      '\n',
      text_plot(plot_points(tuned.trials)),
      "best: ",
      tuned.best.to_string(),
      ": read ",
      format_rate(best.read_rate()),
      ", write ",
      format_rate(best.write_rate()),
      fmt::format("; {:.1f} s, ", std::chrono::duration<double>(elapsed).count()),
      format_bytes(written),
      " written; ",
      tuned.settled ? "no neighbour of it is better"
                    : "time was up before all its neighbours were tried: more --seconds may help",
      '\n');
  // The configuration is what goes to standard output.
  std::fputs(text.c_str(), stderr);
}

Status write_plot(const std::string& path, const Tuned& tuned) {
  return path.empty() ? Status() : write_text(path, svg_plot(plot_points(tuned.trials)));
}

int failed(Progress& progress, const Status& status) {
  progress.clear();
  return tools::stop_signal() != 0 ? 128 + tools::stop_signal() : report_failure(status);
}

}  // namespace

nlohmann::ordered_json configuration_of(const Setting& best,
                                        const std::vector<DeviceRates>& devices) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const DeviceRates& device : devices) {
    list.push_back({{"path", device.path},
                    {"read_bytes_per_second", std::llround(device.rates.read)},
                    {"write_bytes_per_second", std::llround(device.rates.write)}});
  }
  return {{"aio",
           {{"block_size", best.block_bytes},
            {"queue_depth", best.queue_depth},
            {"intra_op_parallelism", best.threads}}},
          {"stepwell", {{"io", {{"engine", io::to_string(best.engine)}, {"devices", list}}}}}};
}

std::vector<PlotPoint> plot_points(const std::vector<Trial>& trials) {
  std::map<std::uint64_t, PlotPoint> best;
  for (const Trial& trial : trials) {
    PlotPoint& point = best[trial.setting.block_bytes];
    if (trial.score() > point.read + point.write) {
      point = {.block_bytes = trial.setting.block_bytes,
               .read = trial.read_rate(),
               .write = trial.write_rate()};
    }
  }
  std::vector<PlotPoint> points;
  for (const auto& [block, point] : best) {
    if (point.block_bytes > 0) {
      points.push_back(point);
    }
  }
  return points;
}

int tune_command(const TuneOptions& options) {
  if (!options.plot_path.empty() && !options.plot_path.ends_with(".svg")) {
    return report_failure({StatusCode::kInvalidArgument,
                           concat("--plot ", options.plot_path, ": only .svg can be written")});
  }
  const nanoseconds start = now();
  Progress progress;
  Buffers buffers;
  const Result<TestFiles> files = TestFiles::create(options.files, buffers, progress);
  if (!files.ok()) {
    return failed(progress, files.status());
  }
  note(
      fmt::format("reads and writes in turns, {:.0f} s at most: at 1 GiB/s that writes {:.0f} GiB "
                  "and wears flash; the best is the largest sum of read and write rate",
                  options.seconds,
                  options.seconds / 2));
  std::uint64_t written = files.value().count() * options.files.size_bytes;
  const auto budget = nanoseconds(static_cast<std::int64_t>(options.seconds * 1e9));
  const nanoseconds kept = files.value().count() > 1
                               ? 3 * kLastSlice * static_cast<std::int64_t>(files.value().count())
                               : nanoseconds(0);
  const TunerOptions tuner{
      .engines = options.engines.empty() ? working_engines() : options.engines,
      .budget = budget - kept - (now() - start),
      .in_flight_bytes_max = std::min(512 * kMiB, buffers.limit_bytes() / files.value().count())};
  const Result<Tuned> tuned = tune(
      tuner,
      [&](const Setting& setting) {
        progress.show(concat("trying ", setting.to_string()));
        return measure_both(files.value(), buffers, setting, kSlice, written);
      },
      now);
  if (!tuned.ok()) {
    return failed(progress, tuned.status());
  }
  const Result<std::vector<DeviceRates>> devices =
      rates_of_devices(files.value(), buffers, tuned.value(), written);
  if (!devices.ok()) {
    return failed(progress, devices.status());
  }
  progress.clear();
  say_result(tuned.value(), written, now() - start);
  Status done = write_plot(options.plot_path, tuned.value());
  if (done.ok()) {
    done = write_text(options.output_path.empty() ? "-" : options.output_path,
                      configuration_of(tuned.value().best, devices.value()).dump(2) + '\n');
  }
  return done.ok() ? kExitOk : report_failure(done);
}

}  // namespace stepwell::swap_bench
