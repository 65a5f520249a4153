#include "src/paging/service.h"

#include <atomic>
#include <fstream>
#include <utility>

#include "src/base/format.h"
#include "src/paging/dispatch.h"
#include "stepwell/log.h"
#include "stepwell/zero.h"

namespace stepwell {
namespace {

std::uint64_t next_service_id() {
  static std::atomic<std::uint64_t> counter{0};
  return ++counter;
}

/// Memory that this process may still take: what the system has available, within the limit of its
/// control group.
std::uint64_t available_memory_bytes() {
  std::uint64_t available = 0;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key, unit; meminfo >> key;) {
    std::uint64_t kib = 0;
    meminfo >> kib;
    std::getline(meminfo, unit);
    if (key == "MemAvailable:") {
      available = kib * kKiB;
    }
  }
  std::uint64_t limit = 0;
  std::uint64_t used = 0;
  std::ifstream limit_file("/sys/fs/cgroup/memory.max");
  std::ifstream used_file("/sys/fs/cgroup/memory.current");
  if (limit_file >> limit && used_file >> used) {
    available = std::min(available, limit - std::min(limit, used));
  }
  return available;
}

/// "auto" is 40 % of the memory that is available: both tiers together leave a fifth for
/// activations and the program.
std::uint64_t budget_bytes(std::uint64_t configured) {
  return configured == kAutoBytes ? available_memory_bytes() / 10 * 4 : configured;
}

/// What one budget is called in a configuration, and what it says.
struct NamedBudget {
  const char* key;
  std::uint64_t configured;
  std::uint64_t actual;
};

std::string holders_of(const memory::Budget::Usage& usage) {
  std::string text;
  for (int holder = 0; holder < memory::kHolderCount; ++holder) {
    const std::uint64_t bytes = usage.by_holder[static_cast<std::size_t>(holder)];
    if (bytes > 0) {
      text += concat(text.empty() ? "" : ", ",
                     memory::to_string(static_cast<memory::Holder>(holder)),
                     " ",
                     format_bytes(bytes));
    }
  }
  return text;
}

}  // namespace

Tier home_of(OffloadDevice device, Tier in_use) {
  switch (device) {
    case OffloadDevice::kNone:
      return in_use;
    case OffloadDevice::kCpu:
      return Tier::kHost;
    case OffloadDevice::kNvme:
      return Tier::kNvme;
  }
  return in_use;
}

Service::Service(const Config& config)
    : id_(next_service_id()),
      parameter_home_(home_of(config.zero.offload_param.device, Tier::kDevice)),
      persistence_threshold_elements_(config.zero.param_persistence_threshold),
      device_(device::make_cpu_device(config.stepwell.unified_memory)),
      host_source_(memory::make_host_source(false)),
      device_budget_(
          std::make_unique<memory::Budget>("device", budget_bytes(config.stepwell.device_bytes))),
      host_budget_(
          std::make_unique<memory::Budget>("host", budget_bytes(config.stepwell.host_bytes))),
      device_pool_(std::make_unique<memory::Pool>(*device_budget_, device_->memory_source())),
      host_pool_(std::make_unique<memory::Pool>(*host_budget_, *host_source_)) {}

Result<std::shared_ptr<Service>> Service::open(const Config& config) {
  paging::link_interception();
  if (config.stepwell.device == "cuda") {
    return Status(
        StatusCode::kUnsupported,
        "stepwell.device.kind: training on a CUDA device is not in this version; use \"cpu\"");
  }
  std::shared_ptr<Service> made(new Service(config));  // NOLINT: private constructor
  STEPWELL_RETURN_IF_ERROR(made->open_swap(config));
  const std::uint64_t element_bytes = config.precision == Precision::kFp32 ? 4 : 2;
  made->table_ = std::make_unique<residency::PageTable>(residency::PageTableOptions{
      .device = made->device_.get(),
      .device_pool = made->device_pool_.get(),
      .host_pool = made->host_pool_.get(),
      .swap = made->swap_.get(),
      .prefetch_bytes_max = config.zero.prefetch_bucket_size * element_bytes});
  return made;
}

Status Service::open_swap(const Config& config) {
  const OffloadConfig& parameters = config.zero.offload_param;
  const OffloadConfig& optimizer = config.zero.offload_optimizer;
  const bool parameters_on_nvme = parameters.device == OffloadDevice::kNvme;
  const bool optimizer_on_nvme = optimizer.device == OffloadDevice::kNvme;
  if (!parameters_on_nvme && !optimizer_on_nvme) {
    return {};
  }
  if (parameters_on_nvme && optimizer_on_nvme && parameters.nvme_path != optimizer.nvme_path) {
    return {StatusCode::kUnsupported,
            concat("offload_param.nvme_path '",
                   parameters.nvme_path,
                   "' and offload_optimizer.nvme_path '",
                   optimizer.nvme_path,
                   "' differ; this version keeps both in one folder: name the same one")};
  }
  swap::SwapSpaceOptions options;
  for (const IoDeviceConfig& device : config.stepwell.io_devices) {
    const auto rate = static_cast<double>(device.read_bytes_per_second) +
                      static_cast<double>(device.write_bytes_per_second);
    options.folders.push_back({.path = device.path, .weight = rate > 0 ? rate : 1});
  }
  if (options.folders.empty()) {
    options.folders = {{.path = parameters_on_nvme ? parameters.nvme_path : optimizer.nvme_path}};
  }
  for (swap::SwapFolder& folder : options.folders) {
    folder.cpus = config.stepwell.io_cpus;
  }
  options.direct = config.stepwell.direct_io;
  options.volume = {.block_bytes = config.aio.block_size_bytes,
                    .stripe_bytes = config.aio.block_size_bytes,
                    .rings = 1};
  const Result<io::EngineKind> kind = io::parse_engine_kind(config.stepwell.io_engine);
  STEPWELL_RETURN_IF_ERROR(kind.status());
  // Threads are rings of their own, or the workers of the thread engine; one worker alone would be
  // a queue of one.
  const std::uint32_t threads = std::max(1U, config.aio.intra_op_parallelism);
  if (kind.value() != io::EngineKind::kThreads) {
    options.volume.rings = threads;
  }
  options.volume.engine = {
      .kind = kind.value(),
      .queue_depth = config.aio.queue_depth,
      .thread_count = threads > 1 ? threads : std::min(config.aio.queue_depth, 16U),
      .submission_polling = config.stepwell.submission_polling,
      .completion_polling = config.stepwell.completion_polling};
  const std::uint64_t in_flight = config.stepwell.io_in_flight_bytes;
  options.volume.loop = {.in_flight_bytes_max = in_flight == kAutoBytes ? 0 : in_flight,
                         .deadline = std::chrono::milliseconds(static_cast<std::int64_t>(
                             config.stepwell.io_deadline_seconds * 1000))};
  Result<std::unique_ptr<swap::SwapSpace>> space = swap::SwapSpace::open(options);
  STEPWELL_RETURN_IF_ERROR(space.status());
  swap_ = std::move(space).value();
  log_info(swap_->describe());
  return {};
}

Status Service::check_same_budgets(const Config& config) const {
  for (const NamedBudget& budget :
       {NamedBudget{"device", config.stepwell.device_bytes, device_budget_->limit_bytes()},
        NamedBudget{"host", config.stepwell.host_bytes, host_budget_->limit_bytes()}}) {
    if (budget.configured != kAutoBytes && budget.configured != budget.actual) {
      return {StatusCode::kInvalidArgument,
              concat("stepwell.memory.",
                     budget.key,
                     "_bytes is ",
                     budget.configured,
                     " here, and the model was built under zero::Init with ",
                     budget.actual,
                     "; give both the same configuration")};
    }
  }
  return {};
}

Status Service::reserve_swap(std::uint64_t bytes) {
  return swap_ == nullptr ? Status() : swap_->reserve(swap_->stats().allocated_bytes + bytes);
}

MemoryReport Service::memory_report() const {
  MemoryReport report;
  for (const auto& [tier, budget] : {std::pair{Tier::kDevice, device_budget_.get()},
                                     std::pair{Tier::kHost, host_budget_.get()}}) {
    const memory::Budget::Usage usage = budget->usage();
    report.tiers.push_back({.tier = tier,
                            .limit_bytes = usage.limit_bytes,
                            .used_bytes = usage.used_bytes,
                            .peak_bytes = usage.peak_bytes,
                            .holders = holders_of(usage)});
  }
  if (swap_ != nullptr) {
    const swap::SwapStats stats = swap_->stats();
    report.tiers.push_back({.tier = Tier::kNvme,
                            .limit_bytes = stats.file_bytes,
                            .used_bytes = stats.allocated_bytes,
                            .peak_bytes = stats.peak_allocated_bytes});
    report.swap_description = swap_->describe();
    report.swap_complaints = swap_->complaints();
  }
  report.page_count = table_->page_count();
  report.page_bytes = table_->page_bytes();
  return report;
}

std::shared_ptr<Service> make_service(const Config& config) {
  return Service::open(config).value_or_throw();
}

}  // namespace stepwell
