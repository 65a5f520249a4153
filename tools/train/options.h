// What the command line of `stepwell` says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stepwell::train {

struct ModelShape {
  std::int64_t layers = 6;
  std::int64_t width = 256;
  std::int64_t heads = 4;
  std::int64_t context = 64;
};

struct TrainOptions {
  std::string config_path;
  std::string data_path;  // empty: generated sums
  std::string log_path;   // empty: no log
  ModelShape model;
  std::uint64_t steps = 350;
  std::uint64_t seed = 1;
  std::uint64_t warmup_steps = 20;
  std::uint64_t eval_every = 0;  // steps; 0: only at the end
  std::uint64_t eval_windows = 64;
  std::optional<double> lr;  // peak; nothing: the configuration's
  // Overrides of the configuration.
  std::string nvme_path;
  std::optional<std::uint64_t> device_bytes;
  std::optional<std::uint64_t> host_bytes;
  int threads = 0;  // 0: as many as LibTorch takes
  bool quiet = false;
  bool json = false;
  bool require_below_bigram = false;
};

struct DoctorOptions {
  std::string folder = ".";
};

/// Exit statuses of every subcommand; a run ended by a signal gives 128 + its number.
enum ExitStatus : int {
  kExitOk = 0,
  kExitFailure = 1,        // something went wrong while running
  kExitUsage = 2,          // wrong command line, configuration or input file
  kExitNotBelowBigram = 3  // trained, but --require-below-bigram does not hold
};

}  // namespace stepwell::train
