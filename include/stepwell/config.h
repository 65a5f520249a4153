// The JSON configuration: what DeepSpeed users already have, plus one section "stepwell".
//
// Parsing is strict: every key is known, typed and bounded in one table (src/config/schema.cc); an
// unknown key is an error with a suggestion, at every level; a value that is accepted has an
// effect.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "stepwell/status.h"

namespace stepwell {

/// Where states live between uses.
enum class OffloadDevice : std::uint8_t { kNone, kCpu, kNvme };
const char* to_string(OffloadDevice device);

enum class Precision : std::uint8_t { kFp32, kBf16 };

enum class OptimizerKind : std::uint8_t { kAdam, kAdamW };

/// `optimizer`: type and params.
struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool bias_correction = true;
  bool adam_w_mode = true;  // type "Adam" is decoupled too unless this is false; "AdamW" always is
};

/// `zero_optimization.offload_param` and `.offload_optimizer`.
struct OffloadConfig {
  OffloadDevice device = OffloadDevice::kNone;
  std::string nvme_path;
  bool pin_memory = true;
};

/// `zero_optimization`, sizes in elements.
struct ZeroConfig {
  int stage = 0;
  OffloadConfig offload_param;
  OffloadConfig offload_optimizer;
  std::uint64_t sub_group_size = 1'000'000'000;  // bounds the optimizer tile
  std::uint64_t prefetch_bucket_size =
      50'000'000;  // bounds the bytes fetched ahead; 0: no prefetch
  std::uint64_t param_persistence_threshold =
      100'000;  // parameters up to this size stay resident while room allows
};

/// `aio`.
struct AioConfig {
  std::uint64_t block_size_bytes = 1'048'576;
  std::uint32_t queue_depth = 8;
  std::uint32_t intra_op_parallelism = 1;  // I/O threads with a queue each, for every device
};

/// A budget of a tier: a number of bytes, or "auto".
inline constexpr std::uint64_t kAutoBytes = std::numeric_limits<std::uint64_t>::max();

/// One entry of `stepwell.io.devices`.
struct IoDeviceConfig {
  std::string path;                         // folder on the device
  std::uint64_t read_bytes_per_second = 0;  // as `swap-bench tune` measured them; 0: not known
  std::uint64_t write_bytes_per_second = 0;
  bool operator==(const IoDeviceConfig&) const = default;
};

/// `stepwell`: what DeepSpeed has no key for.
struct StepwellConfig {
  /// Budgets for pages on the device and on the host. "auto": 40 % of the memory that is available
  /// when the service opens.
  std::uint64_t device_bytes = kAutoBytes;
  std::uint64_t host_bytes = kAutoBytes;
  std::string io_engine = "auto";  // auto, io_uring, libaio, threads
  bool direct_io = true;
  bool submission_polling = false;  // io_uring SQPOLL
  bool completion_polling = false;  // io_uring IOPOLL
  std::string io_cpus = "any";      // cores of I/O threads: any, near (the device), or "0-3,8"
  double io_deadline_seconds = 60;  // a request without an answer for longer fails; 0: never
  std::uint64_t io_in_flight_bytes = 268'435'456;  // handed to the kernel at a time, each thread
  std::vector<IoDeviceConfig> io_devices;          // empty: nvme_path alone
  std::uint64_t tile_elements =
      4'194'304;                // elements of one optimizer tile, bounded by sub_group_size
  std::string device = "auto";  // auto, cpu, cuda
  bool unified_memory =
      true;  // CPU device: host and device are one memory; false: copy between them
};

/// The parsed and checked configuration. Value type.
struct Config {
  std::uint64_t train_batch_size = 1;
  std::uint64_t train_micro_batch_size_per_gpu = 1;
  std::uint64_t gradient_accumulation_steps = 1;
  double gradient_clipping = 1.0;  // max global L2 norm, on by default as in DeepSpeed; 0: off
  std::optional<std::uint64_t> steps_per_print;
  bool wall_clock_breakdown = false;
  Precision precision = Precision::kFp32;
  bool has_optimizer = false;  // the configuration has an `optimizer` section
  OptimizerConfig optimizer;
  ZeroConfig zero;
  AioConfig aio;
  StepwellConfig stepwell;
  /// What was accepted without effect and why, and what "auto" became: "key: reason" each. Print
  /// them.
  std::vector<std::string> notes;

  /// Parses JSON text (comments and trailing commas allowed). `world_size` is the number of
  /// data-parallel ranks. Reports up to ten independent errors at once. kInvalidArgument: wrong
  /// input; kUnsupported: right for DeepSpeed, but not in this version. Never throws.
  static Result<Config> parse(const std::string& text, std::uint64_t world_size = 1);
  /// Reads and parses a file. kNotFound: there is none of that name; kIo: it cannot be read.
  static Result<Config> load(const std::string& path, std::uint64_t world_size = 1);
  /// The resolved configuration as JSON, every key that has an effect with its value in force;
  /// `optimizer` only when there is one. parse() of it, with the same `world_size`, gives this
  /// configuration again.
  std::string to_json() const;
};

}  // namespace stepwell
