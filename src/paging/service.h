// The tiers of one or more engines: device, budgets, pools, swap space and the page table over
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "src/device/device.h"
#include "src/residency/page_table.h"
#include "stepwell/config.h"
#include "stepwell/memory/budget.h"
#include "stepwell/memory/pool.h"
#include "stepwell/report.h"
#include "swap/swap_space.h"

namespace stepwell {

/// Thread-safe. Kept alive by everything that lives in it (engines, paged storages).
class Service {
 public:
  static Result<std::shared_ptr<Service>> open(const Config& config);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service() = default;

  residency::PageTable& pages() { return *table_; }
  /// Unique in the process, never reused.
  std::uint64_t id() const { return id_; }
  /// Where parameters live when not in use.
  Tier parameter_home() const { return parameter_home_; }
  /// Whether a parameter stays resident while room allows because it is small: at most the
  /// persistence threshold.
  bool keeps_resident(std::uint64_t elements) const {
    return elements <= persistence_threshold_elements_;
  }
  /// Makes sure that the swap space has room for `bytes` in all; ok without NVMe.
  Status reserve_swap(std::uint64_t bytes);
  /// kInvalidArgument when `config` names other budgets than the ones this service was opened with.
  Status check_same_budgets(const Config& config) const;
  MemoryReport memory_report() const;
  bool has_swap() const { return swap_ != nullptr; }

 private:
  explicit Service(const Config& config);
  Status open_swap(const Config& config);

  std::uint64_t id_;
  Tier parameter_home_ = Tier::kDevice;
  std::uint64_t persistence_threshold_elements_ = 0;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<memory::Source> host_source_;
  std::unique_ptr<memory::Budget> device_budget_;
  std::unique_ptr<memory::Budget> host_budget_;
  std::unique_ptr<memory::Pool> device_pool_;
  std::unique_ptr<memory::Pool> host_pool_;
  std::unique_ptr<swap::SwapSpace> swap_;
  std::unique_ptr<residency::PageTable> table_;
};

/// Tier that an offload setting names; `in_use` is where the states are used when they are not
/// offloaded.
Tier home_of(OffloadDevice device, Tier in_use);

}  // namespace stepwell
