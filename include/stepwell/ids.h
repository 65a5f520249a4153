// Strong types for places and names, so that no two integers of a call can be swapped by mistake.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace stepwell {

/// Where a page can be. Ordered from the fastest to the largest.
enum class Tier : std::uint8_t { kDevice = 0, kHost = 1, kNvme = 2 };
inline constexpr int kTierCount = 3;

/// "device", "host" or "nvme".
constexpr const char* to_string(Tier tier) {
  return tier == Tier::kDevice ? "device" : tier == Tier::kHost ? "host" : "nvme";
}

/// Identity of a page inside one page table. Never reused while the table lives.
struct PageId {
  std::uint32_t value = UINT32_MAX;
  constexpr bool valid() const { return value != UINT32_MAX; }
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means the 0 of generated comparisons.
  friend constexpr auto operator<=>(PageId, PageId) = default;
};

/// Index into a table of names (operators, phases).
struct NameId {
  std::uint32_t value = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): as above
  friend constexpr auto operator<=>(NameId, NameId) = default;
};

}  // namespace stepwell

template <>
struct std::hash<stepwell::PageId> {
  std::size_t operator()(stepwell::PageId id) const noexcept { return id.value; }
};
