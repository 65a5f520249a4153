#include "tools/swap_bench/tuner.h"

#include <algorithm>
#include <array>
#include <utility>

#include "stepwell/check.h"

namespace stepwell::swap_bench {
namespace {

/// After round N of a race a setting drops out whose best slice is below this share of the best
/// median. A disk that stalls makes slices too slow, never too fast, so one slice says little.
constexpr std::array kKeptShares{0.35, 0.7, 0.85, 0.9};
/// What a change of the setting must bring.
constexpr double kWorth = 1.02;

/// What decides between equals: bytes in flight, then the engine (in the order of kAuto).
std::pair<std::uint64_t, io::EngineKind> cost_of(const Setting& setting) {
  return {setting.block_bytes * setting.queue_depth * setting.threads, setting.engine};
}

class Search {
 public:
  Search(const TunerOptions& options, const MeasureSlice& measure, const Clock& now)
      : options_(options), measure_(measure), now_(now), start_(now()) {}

  Result<Tuned> run() {
    const std::vector<std::size_t> first = coarse();
    // The first slice finds a disk that is waking up: it does not count.
    if (!first.empty() && slice(trials_[first[0]])) {
      trials_[first[0]].samples.clear();
      race(first);
    }
    while (error_.ok() && !out_of_time_ && !trials_.empty()) {
      const std::size_t before = best_index();
      if (trials_[before].samples.empty()) {
        break;
      }
      std::vector<std::size_t> racers = neighbours(trials_[before].setting);
      racers.push_back(before);
      race(std::move(racers));
      const std::size_t after = best_index();
      if (after == before || trials_[after].score() < kWorth * trials_[before].score()) {
        settled_ = !out_of_time_;
        break;
      }
    }
    STEPWELL_RETURN_IF_ERROR(error_);
    return result();
  }

 private:
  std::vector<std::size_t> coarse() {
    std::vector<std::size_t> indices;
    for (const io::EngineKind engine : options_.engines) {
      for (const std::uint64_t block : options_.block_sizes) {
        for (const std::uint32_t depth : options_.queue_depths) {
          // A thread of the thread engine has one call in flight.
          const bool threads = engine == io::EngineKind::kThreads;
          add(indices, {engine, block, depth, threads ? std::min(depth, options_.threads_max) : 1});
        }
      }
    }
    return indices;
  }

  /// `of` by value: trials_ grows meanwhile.
  std::vector<std::size_t> neighbours(const Setting of) {
    std::vector<std::size_t> indices;
    const auto changed = [&](auto Setting::*member, auto value) {
      Setting setting = of;
      setting.*member = value;
      add(indices, setting);
    };
    for (const io::EngineKind engine : options_.engines) {
      if (engine != of.engine) {
        changed(&Setting::engine, engine);
      }
    }
    changed(&Setting::block_bytes, of.block_bytes * 2);
    changed(&Setting::block_bytes, of.block_bytes / 2);
    changed(&Setting::queue_depth, of.queue_depth * 2);
    changed(&Setting::queue_depth, of.queue_depth / 2);
    changed(&Setting::threads, of.threads * 2);
    changed(&Setting::threads, of.threads / 2);
    return indices;
  }

  /// The trial of `setting`, when it is within the bounds and did not fail.
  void add(std::vector<std::size_t>& indices, const Setting& setting) {
    const bool possible =
        setting.block_bytes >= options_.block_bytes_min &&
        setting.block_bytes <= options_.block_bytes_max && setting.queue_depth >= 1 &&
        setting.queue_depth <= options_.queue_depth_max && setting.threads >= 1 &&
        setting.threads <= options_.threads_max &&
        setting.calls_in_flight() * setting.block_bytes <= options_.in_flight_bytes_max;
    if (!possible) {
      return;
    }
    const auto found = std::find_if(trials_.begin(), trials_.end(), [&](const Trial& trial) {
      return trial.setting == setting;
    });
    if (found == trials_.end()) {
      trials_.push_back({.setting = setting});
      indices.push_back(trials_.size() - 1);
    } else if (found->failure.empty()) {
      indices.push_back(static_cast<std::size_t>(found - trials_.begin()));
    }
  }

  void race(std::vector<std::size_t> racers) {
    for (const double kept_share : kKeptShares) {
      for (const std::size_t index : racers) {
        if (!slice(trials_[index])) {
          return;
        }
      }
      // Back and forth, so that none is always the first.
      std::reverse(racers.begin(), racers.end());
      double best = 0;
      for (const std::size_t index : racers) {
        best = std::max(best, trials_[index].score());
      }
      std::erase_if(racers, [&](std::size_t index) {
        return trials_[index].best_slice() < kept_share * best;
      });
      if (racers.size() <= 1) {
        return;
      }
    }
  }

  /// False when the search is over.
  bool slice(Trial& trial) {
    if (!trial.failure.empty()) {
      return true;
    }
    const std::chrono::nanoseconds begin = now_();
    if (begin - start_ + longest_ > options_.budget) {
      out_of_time_ = true;
      return false;
    }
    const Result<Rates> rates = measure_(trial.setting);
    longest_ = std::max(longest_, now_() - begin);
    if (rates.ok()) {
      trial.samples.push_back(rates.value());
      return true;
    }
    if (rates.status().code() == StatusCode::kCancelled) {
      error_ = rates.status();
      return false;
    }
    trial.failure = rates.status().message();
    first_failure_ = first_failure_.ok() ? rates.status() : first_failure_;
    return true;
  }

  std::size_t best_index() const {
    const auto best =
        std::max_element(trials_.begin(), trials_.end(), [](const Trial& one, const Trial& other) {
          return one.score() < other.score();
        });
    return static_cast<std::size_t>(best - trials_.begin());
  }

  Result<Tuned> result() {
    if (trials_.empty() || trials_[best_index()].samples.empty()) {
      return !first_failure_.ok() ? first_failure_
                                  : Status(StatusCode::kInvalidArgument,
                                           "no time to measure anything: pass more --seconds");
    }
    const double enough = trials_[best_index()].score() / kWorth;
    // Few samples are no proof of being as good.
    const std::size_t samples = trials_[best_index()].samples.size();
    const Trial* chosen = &trials_[best_index()];
    for (const Trial& trial : trials_) {
      if (trial.score() >= enough && trial.samples.size() >= std::min<std::size_t>(samples, 3) &&
          cost_of(trial.setting) < cost_of(chosen->setting)) {
        chosen = &trial;
      }
    }
    Tuned tuned{.best = chosen->setting, .out_of_time = out_of_time_, .settled = settled_};
    std::erase_if(
        trials_, [](const Trial& trial) { return trial.samples.empty() && trial.failure.empty(); });
    tuned.trials = std::move(trials_);
    return tuned;
  }

  const TunerOptions& options_;
  const MeasureSlice& measure_;
  const Clock& now_;
  const std::chrono::nanoseconds start_;
  std::chrono::nanoseconds longest_{0};  // slice so far
  std::vector<Trial> trials_;
  bool out_of_time_ = false;
  bool settled_ = false;
  Status error_;
  Status first_failure_;
};

double median_of(const std::vector<Rates>& samples, double (*of)(const Rates&)) {
  std::vector<double> values;
  for (const Rates& sample : samples) {
    values.push_back(of(sample));
  }
  return values.empty() ? 0 : median(values);
}

}  // namespace

double Trial::read_rate() const {
  return median_of(samples, [](const Rates& rates) { return rates.read; });
}

double Trial::write_rate() const {
  return median_of(samples, [](const Rates& rates) { return rates.write; });
}

double Trial::best_slice() const {
  double best = 0;
  for (const Rates& sample : samples) {
    best = std::max(best, sample.total());
  }
  return best;
}

double Trial::score() const {
  return median_of(samples, [](const Rates& rates) { return rates.total(); });
}

const Trial& Tuned::best_trial() const {
  const auto found = std::find_if(
      trials.begin(), trials.end(), [&](const Trial& trial) { return trial.setting == best; });
  STEPWELL_CHECK(found != trials.end(), "the best setting was never tried");
  return *found;
}

Result<Tuned> tune(const TunerOptions& options, const MeasureSlice& measure, const Clock& now) {
  STEPWELL_CHECK(!options.engines.empty(), "a search without an engine");
  return Search(options, measure, now).run();
}

}  // namespace stepwell::swap_bench
