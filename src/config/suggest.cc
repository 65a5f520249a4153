#include "src/config/suggest.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "src/base/format.h"
#include "src/config/schema.h"

namespace stepwell::config {
namespace {

constexpr std::size_t kPlacesMax = 3;      // more places than this are no help
constexpr std::size_t kNameSizeMax = 100;  // longer names are no slips

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return result;
}

/// Edits that still look like a slip of the pen.
std::size_t slips_allowed(std::string_view name) {
  return name.size() <= 3 ? 1 : std::max<std::size_t>(2, name.size() / 4);
}

/// Sections that have a key named `leaf`, in words; "" when none or too many.
std::string places_of(std::string_view leaf) {
  std::vector<std::string> places;
  for (const Key& key : keys()) {
    if (leaf_of(key.path) == leaf && key.effect != Effect::kRemoved) {
      const std::string_view parent = parent_of(key.path);
      places.push_back(parent.empty() ? "at the top level" : concat("under '", parent, "'"));
    }
  }
  if (places.empty() || places.size() > kPlacesMax) {
    return {};
  }
  std::string text = places.front();
  for (std::size_t i = 1; i < places.size(); ++i) {
    text += (i + 1 == places.size() ? " or " : ", ") + places[i];
  }
  return text;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;  // row i - 2
  std::vector<std::size_t> above;   // row i - 1
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row.back();
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates) {
  if (name.size() > kNameSizeMax) {
    return {};
  }
  std::string_view best;
  std::size_t best_distance = slips_allowed(name) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(lower(name), lower(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggest_key(std::string_view path) {
  const std::string_view leaf = leaf_of(path);
  std::vector<std::string_view> siblings;
  for (const Key& key : keys()) {
    if (parent_of(key.path) == parent_of(path) && key.effect != Effect::kRemoved) {
      siblings.push_back(leaf_of(key.path));
    }
  }
  if (const std::string places = places_of(leaf); !places.empty()) {
    return concat("; '", leaf, "' belongs ", places);
  }
  std::string_view near = nearest(leaf, siblings);
  if (!near.empty()) {
    const std::string_view parent = parent_of(path);
    return concat("; did you mean '", parent, parent.empty() ? "" : ".", near, "'?");
  }
  std::vector<std::string_view> leaves;
  for (const Key& key : keys()) {
    leaves.push_back(leaf_of(key.path));
  }
  near = nearest(leaf, leaves);
  const std::string places = near.empty() ? std::string() : places_of(near);
  return places.empty() ? "" : concat("; did you mean '", near, "' ", places, "?");
}

}  // namespace stepwell::config
