// "Did you mean": the nearest names of the table.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stepwell::config {

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The one of `candidates` nearest to `name`, or "" when none is near enough to be a slip and none
/// contains it or is contained in it. Case does not count.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates);

/// What to say of the unknown key `path`: where a key of that name belongs, or which known key is
/// nearest; "" when neither helps. Begins with "; ".
std::string suggest_key(std::string_view path);

}  // namespace stepwell::config
