#include "tools/swap_bench/buffers.h"

#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "src/base/format.h"
#include "stepwell/bytes.h"
#include "tools/swap_bench/random_bytes.h"

namespace stepwell::swap_bench {
namespace {

std::uint64_t available_bytes() {
  std::ifstream lines("/proc/meminfo");
  for (std::string name; lines >> name;) {
    std::uint64_t kib = 0;
    if (name == "MemAvailable:" && lines >> kib) {
      return kib * kKiB;
    }
    lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 2 * kGiB;
}

}  // namespace

Buffers::Buffers()
    : budget_("buffers", available_bytes() / 2),
      source_(memory::make_host_source(/*pinned=*/false)),
      pool_(budget_, *source_) {}

Result<std::span<std::byte>> Buffers::get(std::uint64_t size_bytes) {
  if (size_bytes > budget_.limit_bytes()) {
    return Status(
        StatusCode::kBudgetExceeded,
        concat("buffers of ",
               format_bytes(size_bytes),
               " are needed (block size x queue depth x threads x paths), and half of the "
               "available memory is ",
               format_bytes(budget_.limit_bytes()),
               ": choose smaller ones"));
  }
  if (block_.capacity_bytes() < size_bytes) {
    block_.release();
    pool_.trim();
    Result<memory::Block> block = pool_.allocate(size_bytes, memory::Holder::kStaging);
    STEPWELL_RETURN_IF_ERROR(block.status());
    block_ = std::move(block).value();
    fill_random({block_.data(), block_.capacity_bytes()}, size_bytes);
  }
  return std::span(block_.data(), size_bytes);
}

}  // namespace stepwell::swap_bench
