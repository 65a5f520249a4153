// A page table over a real swap space and small pools, for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "src/residency/page_table.h"
#include "tests/support/fault_engine.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::residency {

constexpr std::uint64_t kBlock = memory::kBlockAlignment;

struct BenchOptions {
  std::uint64_t device_blocks = 8;
  std::uint64_t host_blocks = 8;
  bool unified = true;
  std::uint64_t prefetch_blocks = 0;
  memory::Source* device_source = nullptr;  // null: the device's own
};

struct Bench {
  explicit Bench(const BenchOptions& options)
      : device(device::make_cpu_device(options.unified)),
        host_source(memory::make_host_source(false)),
        device_budget("device", options.device_blocks * kBlock),
        host_budget("host", options.host_blocks * kBlock),
        device_pool(
            device_budget,
            options.device_source != nullptr ? *options.device_source : device->memory_source()),
        host_pool(host_budget, *host_source),
        swap(open_swap()),
        table({.device = device.get(),
               .device_pool = &device_pool,
               .host_pool = &host_pool,
               .swap = swap.get(),
               .prefetch_bytes_max = options.prefetch_blocks * kBlock}),
        name(table.operator_id("test")) {}
  Bench(std::uint64_t device_blocks,
        std::uint64_t host_blocks,
        bool unified,
        std::uint64_t prefetch_blocks = 0)
      : Bench(BenchOptions{.device_blocks = device_blocks,
                           .host_blocks = host_blocks,
                           .unified = unified,
                           .prefetch_blocks = prefetch_blocks}) {}

  std::unique_ptr<swap::SwapSpace> open_swap() {
    return swap::SwapSpace::open(
               {.folders = {{.path = folder.path().string()}},
                .engine_factory = [this] { return Result(test::make_fault_engine(faults)); }})
        .value_or_throw();
  }

  PageId page(const std::string& called,
              std::uint64_t blocks,
              Tier home = Tier::kNvme,
              Tier pool = Tier::kDevice) {
    return table
        .create({.name = called, .size_bytes = blocks * kBlock - 7, .pool = pool, .home = home})
        .value_or_throw();
  }

  /// One operator with one page that fills it with `value`.
  Status fill(PageId id, std::uint64_t blocks, int value, Access access = Access::kOverwrite) {
    const std::vector<PageUse> use{{id, access}};
    STEPWELL_RETURN_IF_ERROR(table.acquire(name, use));
    std::memset(table.data(id), value, blocks * kBlock - 7);
    table.release(use);
    return {};
  }
  /// First byte of the page, read by an operator.
  Result<int> first_byte(PageId id) {
    const std::vector<PageUse> use{{id, Access::kRead}};
    STEPWELL_RETURN_IF_ERROR(table.acquire(name, use));
    const int value = std::to_integer<int>(table.data(id)[0]);
    table.release(use);
    return value;
  }

  test::TemporaryFolder folder;
  std::shared_ptr<test::FaultControl> faults = std::make_shared<test::FaultControl>();
  std::unique_ptr<device::Device> device;
  std::unique_ptr<memory::Source> host_source;
  memory::Budget device_budget;
  memory::Budget host_budget;
  memory::Pool device_pool;
  memory::Pool host_pool;
  std::unique_ptr<swap::SwapSpace> swap;
  PageTable table;
  NameId name;
};

}  // namespace stepwell::residency
