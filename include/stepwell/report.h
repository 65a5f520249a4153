// What the engine did and what it holds, as numbers. Plain values; times in seconds, sizes in
// bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "stepwell/ids.h"

namespace stepwell {

/// Movement between home and place of use since the last report.
struct StepReport {
  double forward_seconds = 0;
  double backward_seconds = 0;
  double step_seconds = 0;
  /// Time that operators waited for pages; part of the three above.
  double stall_seconds = 0;
  /// Page and operator of the longest single wait.
  std::string longest_stall_page;
  std::string longest_stall_operator;
  double longest_stall_seconds = 0;

  std::uint64_t uses = 0;    // pages asked for by operators
  std::uint64_t hits = 0;    // of these, resident already (or arrived in time)
  std::uint64_t faults = 0;  // of these, had to be waited for
  std::uint64_t nvme_read_bytes = 0;
  std::uint64_t nvme_written_bytes = 0;
  std::uint64_t host_to_device_bytes =
      0;  // pages that moved (or were handed over on unified memory)
  std::uint64_t device_to_host_bytes = 0;

  double total_seconds() const { return forward_seconds + backward_seconds + step_seconds; }
};

/// One tier.
struct TierReport {
  Tier tier = Tier::kDevice;
  std::uint64_t limit_bytes = 0;  // UINT64_MAX: none
  std::uint64_t used_bytes = 0;
  std::uint64_t peak_bytes = 0;
  /// "parameters 12 MiB, optimizer states 20 MiB": who holds it.
  std::string holders;
};

struct MemoryReport {
  std::vector<TierReport> tiers;
  std::uint64_t page_count = 0;
  std::uint64_t page_bytes = 0;
  std::string swap_description;  // folder, engine, direct or not; empty without NVMe
  /// Devices of the swap space that failed or hold the others back, with the numbers.
  std::vector<std::string> swap_complaints;
};

}  // namespace stepwell
