#include "src/schedule/schedule.h"

#include <algorithm>

namespace stepwell::schedule {

bool Schedule::same_uses(const Schedule& other) const {
  return uses == other.uses && std::equal(positions.begin(),
                                          positions.end(),
                                          other.positions.begin(),
                                          other.positions.end(),
                                          [](const Position& left, const Position& right) {
                                            return left.use_count == right.use_count;
                                          });
}

void Schedule::add(NameId operator_name, std::span<const PageUse> used, std::uint64_t start_ns) {
  positions.push_back({.first_use = static_cast<std::uint32_t>(uses.size()),
                       .use_count = static_cast<std::uint32_t>(used.size()),
                       .operator_name = operator_name,
                       .start_ns = start_ns});
  uses.insert(uses.end(), used.begin(), used.end());
}

void Schedule::clear() {
  positions.clear();
  uses.clear();
}

}  // namespace stepwell::schedule
