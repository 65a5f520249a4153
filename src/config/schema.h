// The one table of the configuration: every key that is known, its type, default, bounds, meaning
// and what becomes of it. Parsing, defaults, error texts, to_json and the key list of
// configs/README.md all come from it; adding a key is adding one row to a keys_*.cc file.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "stepwell/config.h"

namespace stepwell::config {

/// What a value may be.
enum class Type : std::uint8_t {
  kSection,  // an object whose keys are rows of their own
  kBool,
  kInteger,  // also an integral float (5e8) or a decimal string ("500000000")
  kNumber,
  kText,
  kBytes,    // an integer, a text with a unit ("512MiB", "1.5GB"), or "auto"
  kBetas,    // a list of two numbers in [0, 1)
  kDevices,  // a list of folders with their bandwidths
  kList,
  kAny,  // an object or value that is not looked into
};

/// What becomes of a value.
enum class Effect : std::uint8_t {
  kImplemented,  // stored into Config
  kAccepted,     // no effect because it is not needed; a note says why
  kRefused,      // known to DeepSpeed, not supported here; accepted when it asks for nothing
  kRemoved,      // refused whatever the value, with what replaces it
  kDeprecated,   // rewritten into its successor, with a note
};

/// Where a value is stored.
using Betas = std::pair<double*, double*>;
using Field = std::variant<bool*,
                           int*,
                           std::uint32_t*,
                           std::uint64_t*,
                           double*,
                           std::string*,
                           std::optional<std::uint64_t>*,
                           OffloadDevice*,
                           Precision*,
                           OptimizerKind*,
                           std::vector<IoDeviceConfig>*,
                           Betas>;

/// One row. Texts live for the whole program.
struct Key {
  std::string_view path;  // "zero_optimization.stage"
  Type type = Type::kAny;
  Effect effect = Effect::kImplemented;
  /// JSON text of the default; "null" also means that null may be given. Empty: a section.
  std::string_view default_text = "null";
  std::string_view unit = "";
  std::string_view meaning = "";  // what it does and what it costs, one line
  /// kAccepted: why it is not needed; kRefused: what to do instead (may be empty); kRemoved,
  /// kDeprecated: what replaces it.
  std::string_view reason = "";
  /// JSON text of the value that this engine has whatever is asked for; asking for it is silent.
  std::string_view always = "";
  double minimum = std::numeric_limits<double>::lowest();
  double maximum = std::numeric_limits<double>::max();
  std::uint64_t multiple_of = 1;
  /// kText: the values allowed, separated by '|'; for an enumeration in its order.
  std::string_view choices = "";
  /// kText: values that DeepSpeed has and this version has not.
  std::string_view refused_choices = "";
  bool any_case = false;         // choices match whatever their case
  bool auto_is_default = false;  // "auto" takes the default (sections do it as a whole)
  /// This key turns its section on; as long as it is false the rest of the section is inert.
  bool gate = false;
  std::string_view alias = "";  // another full path with the same meaning
  Field (*field)(Config&) = nullptr;
};

/// Makes the accessor of a (nested) member of Config: field<&Config::zero, &ZeroConfig::stage>.
template <auto... Members>
Field field(Config& config) {
  return &(config.*....*Members);
}

/// A row of a key that is known to DeepSpeed and not supported in this version.
constexpr Key refused(std::string_view path,
                      Type type,
                      std::string_view default_text,
                      std::string_view meaning,
                      std::string_view reason = "") {
  return {.path = path,
          .type = type,
          .effect = Effect::kRefused,
          .default_text = default_text,
          .meaning = meaning,
          .reason = reason};
}

/// A row of a key that turns an unsupported section on.
constexpr Key gate(std::string_view path, std::string_view meaning, std::string_view reason = "") {
  Key key = refused(path, Type::kBool, "false", meaning, reason);
  key.gate = true;
  return key;
}

/// A row of a key that is taken without effect.
constexpr Key accepted(std::string_view path,
                       Type type,
                       std::string_view default_text,
                       std::string_view meaning,
                       std::string_view reason,
                       std::string_view always = "") {
  return {.path = path,
          .type = type,
          .effect = Effect::kAccepted,
          .default_text = default_text,
          .meaning = meaning,
          .reason = reason,
          .always = always};
}

/// A row of an object whose keys follow.
constexpr Key section(std::string_view path, std::string_view meaning) {
  return {.path = path, .type = Type::kSection, .default_text = "", .meaning = meaning};
}

/// A row of a key that is refused whatever its value.
constexpr Key removed(std::string_view path, std::string_view reason) {
  return {.path = path, .type = Type::kAny, .effect = Effect::kRemoved, .reason = reason};
}

/// The slices of the table.
std::span<const Key> engine_keys();
std::span<const Key> zero_keys();
std::span<const Key> unsupported_keys();
std::span<const Key> data_keys();

/// The whole table in the order in which it is printed. Thread-safe.
const std::vector<Key>& keys();

/// The row of `path`, by its name, its alias, or without the prefix "stage3_"; nullptr: none.
const Key* find_key(std::string_view path);

/// "" for "aio", "aio" for "aio.queue_depth".
std::string_view parent_of(std::string_view path);
/// "queue_depth" for "aio.queue_depth".
std::string_view leaf_of(std::string_view path);
/// "a|b" as a list.
std::vector<std::string_view> split_choices(std::string_view choices);

/// The table as the Markdown that configs/README.md carries.
std::string schema_markdown();

}  // namespace stepwell::config
