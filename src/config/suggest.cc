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
constexpr std::size_t kPartSizeMin = 5;    // shorter parts of names say nothing

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

/// "zero_stage" and "stage", "train_micro_batch_size" and "train_micro_batch_size_per_gpu".
bool one_is_part_of_the_other(std::string_view a, std::string_view b) {
  const std::string_view part = a.size() < b.size() ? a : b;
  const std::string_view whole = a.size() < b.size() ? b : a;
  return part.size() >= kPartSizeMin && whole.find(part) != std::string_view::npos;
}

enum class Among : unsigned char { kUseful, kAll };

/// Sections that have a key named `leaf`, in words; "" when none or too many. kUseful leaves out
/// keys that would be refused.
std::string places_of(std::string_view leaf, Among among) {
  std::vector<std::string> places;
  for (const Key& key : keys()) {
    const bool counts =
        key.effect != Effect::kRemoved && (among == Among::kAll || key.effect != Effect::kRefused);
    if (counts && leaf_of(key.path) == leaf) {
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
  std::size_t best_distance = kNameSizeMax;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(lower(name), lower(candidate));
    if (distance < best_distance &&
        (distance <= slips_allowed(name) || one_is_part_of_the_other(name, candidate))) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggest_key(std::string_view path) {
  const std::string_view leaf = leaf_of(path);
  const std::string_view parent = parent_of(path);
  if (const std::string places = places_of(leaf, Among::kUseful); !places.empty()) {
    return concat("; '", leaf, "' belongs ", places);
  }
  std::vector<std::string_view> siblings;
  std::vector<std::string_view> leaves;
  for (const Key& key : keys()) {
    if (key.effect != Effect::kRemoved && key.effect != Effect::kDeprecated) {
      leaves.push_back(leaf_of(key.path));
      if (parent_of(key.path) == parent) {
        siblings.push_back(leaves.back());
      }
    }
  }
  if (const std::string_view near = nearest(leaf, siblings); !near.empty()) {
    return concat("; did you mean '", parent, parent.empty() ? "" : ".", near, "'?");
  }
  if (const std::string places = places_of(leaf, Among::kAll); !places.empty()) {
    return concat("; '", leaf, "' belongs ", places);
  }
  const std::string_view near = nearest(leaf, leaves);
  const std::string places = near.empty() ? "" : places_of(near, Among::kAll);
  return places.empty() ? "" : concat("; did you mean '", near, "' ", places, "?");
}

}  // namespace stepwell::config
