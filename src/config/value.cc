#include "src/config/value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <type_traits>

#include <strings.h>

#include "src/base/format.h"
#include "src/config/suggest.h"

namespace stepwell::config {
namespace {

constexpr std::size_t kShownMax = 60;  // characters of a value in a message
constexpr double kInt64End = 9223372036854775808.0;

Status wrong(const std::string& expected, const Json& found) {
  return {StatusCode::kInvalidArgument, concat("expected ", expected, ", found ", describe(found))};
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string plain_number(double value) {
  return std::floor(value) == value && std::abs(value) < kInt64End
             ? std::to_string(static_cast<std::int64_t>(value))
             : concat(value);
}

/// " from 1 to 4096", " of at least 1", "".
std::string bounds_text(const Key& key) {
  const bool low = key.minimum != std::numeric_limits<double>::lowest();
  const bool high = key.maximum != std::numeric_limits<double>::max();
  if (low && high) {
    return concat(" from ", plain_number(key.minimum), " to ", plain_number(key.maximum));
  }
  return low ? concat(" of at least ", plain_number(key.minimum)) : "";
}

std::string with_unit(const Key& key, const char* noun) {
  std::string text = noun + bounds_text(key);
  if (key.multiple_of > 1) {
    text += concat(", a multiple of ", key.multiple_of);
  }
  return key.unit.empty() ? text : concat(text, " (", key.unit, ")");
}

bool in_bounds(const Key& key, double value) {
  return value >= key.minimum && value <= key.maximum;
}

/// An integer, an integral float or a decimal string.
std::optional<std::int64_t> integer_of(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
               ? std::optional(static_cast<std::int64_t>(number))
               : std::nullopt;
  }
  if (value.is_number_integer()) {
    return value.get<std::int64_t>();
  }
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    return std::floor(number) == number && std::abs(number) < kInt64End
               ? std::optional(static_cast<std::int64_t>(number))
               : std::nullopt;
  }
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

Result<Json> normalise_integer(const Key& key, const Json& value) {
  const std::optional<std::int64_t> number = integer_of(value);
  if (!number || !in_bounds(key, static_cast<double>(*number)) ||
      *number % static_cast<std::int64_t>(key.multiple_of) != 0) {
    return wrong(with_unit(key, "an integer"), value);
  }
  return Json(*number);
}

Result<Json> normalise_number(const Key& key, const Json& value) {
  if (!value.is_number() || !in_bounds(key, value.get<double>())) {
    return wrong(with_unit(key, "a number"), value);
  }
  return Json(value.get<double>());
}

struct ByteUnit {
  std::string_view name;
  double bytes;
};
constexpr std::array kByteUnits = {ByteUnit{"B", 1},
                                   ByteUnit{"KiB", 1024.0},
                                   ByteUnit{"MiB", 1048576.0},
                                   ByteUnit{"GiB", 1073741824.0},
                                   ByteUnit{"TiB", 1099511627776.0},
                                   ByteUnit{"KB", 1e3},
                                   ByteUnit{"MB", 1e6},
                                   ByteUnit{"GB", 1e9},
                                   ByteUnit{"TB", 1e12}};

/// "1.5GB", "512 MiB": whole bytes, a fraction of one is dropped.
std::optional<std::int64_t> bytes_of(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  for (const ByteUnit& unit : kByteUnits) {
    const double bytes = number * unit.bytes;
    if (same_ignoring_case(text, unit.name) && bytes >= 0 && bytes < kInt64End) {
      return static_cast<std::int64_t>(bytes);
    }
  }
  return std::nullopt;
}

Result<Json> normalise_bytes(const Key& key, const Json& value) {
  if (value == "auto") {
    return value;
  }
  std::optional<std::int64_t> bytes = integer_of(value);
  if (!bytes && value.is_string()) {
    bytes = bytes_of(value.get_ref<const std::string&>());
  }
  if (!bytes || !in_bounds(key, static_cast<double>(*bytes))) {
    return wrong(
        "\"auto\", an integer of at least 1 (bytes), or a text like \"512MiB\", \"2GiB\" or "
        "\"1.5GB\"",
        value);
  }
  return Json(*bytes);
}

Result<Json> normalise_text(const Key& key, const Json& value) {
  const std::vector<std::string_view> choices = split_choices(key.choices);
  std::string expected = choices.empty() ? "a text" : "one of";
  for (const std::string_view choice : choices) {
    expected += concat(choice == choices.front() ? " " : ", ", '"', choice, '"');
  }
  if (!value.is_string()) {
    return wrong(expected, value);
  }
  const auto& text = value.get_ref<const std::string&>();
  if (choices.empty()) {
    return value;
  }
  for (const std::string_view choice : choices) {
    if (text == choice || (key.any_case && same_ignoring_case(text, choice))) {
      return Json(choice);
    }
  }
  for (const std::string_view choice : split_choices(key.refused_choices)) {
    if (same_ignoring_case(text, choice)) {
      return Status(StatusCode::kUnsupported,
                    concat(describe(value), " is not in this version; ", expected, " is"));
    }
  }
  const std::string_view near = nearest(text, choices);
  return wrong(near.empty() ? expected : concat(expected, " (did you mean \"", near, "\"?)"),
               value);
}

Result<Json> normalise_betas(const Json& value) {
  const auto is_beta = [](const Json& beta) {
    return beta.is_number() && beta.get<double>() >= 0 && beta.get<double>() < 1;
  };
  if (!value.is_array() || value.size() != 2 || !is_beta(value[0]) || !is_beta(value[1])) {
    return wrong("a list of two numbers from 0 to below 1", value);
  }
  return Json::array({value[0].get<double>(), value[1].get<double>()});
}

/// {"path": DIR, "read_bytes_per_second": N, "write_bytes_per_second": N} each, bandwidths for all
/// or for none.
Result<Json> normalise_devices(const Json& value) {
  constexpr const char* kExpected =
      "a list of objects {\"path\": folder, \"read_bytes_per_second\": integer, "
      "\"write_bytes_per_second\": integer}, at most 64, the last two in all or in none";
  Json devices = Json::array();
  if (!value.is_array() || value.size() > 64) {
    return wrong(kExpected, value);
  }
  std::size_t measured = 0;
  for (const Json& device : value) {
    if (!device.is_object() || !device.contains("path") || !device["path"].is_string() ||
        device["path"].get_ref<const std::string&>().empty()) {
      return wrong(kExpected, device);
    }
    Json made = {{"path", device["path"]}};
    for (const char* key : {"read_bytes_per_second", "write_bytes_per_second"}) {
      const std::optional<std::int64_t> rate =
          device.contains(key) ? integer_of(device[key]) : std::optional<std::int64_t>(0);
      if (!rate || *rate < 0) {
        return wrong(concat(key, " as an integer of at least 0"), device[key]);
      }
      made[key] = *rate;
    }
    for (const auto& [key, unused] : device.items()) {
      if (!made.contains(key)) {
        return Status(StatusCode::kInvalidArgument,
                      concat("unknown key '", key, "' of a device; expected ", kExpected));
      }
    }
    measured += made["read_bytes_per_second"] > 0 && made["write_bytes_per_second"] > 0 ? 1U : 0U;
    devices.push_back(std::move(made));
  }
  if (measured != 0 && measured != devices.size()) {
    return wrong(kExpected, value);
  }
  return devices;
}

/// Enumerators stand in the order of the row's choices.
template <class Enum>
Enum enumerator_of(const Key& key, const Json& value) {
  const std::vector<std::string_view> choices = split_choices(key.choices);
  const auto found = std::find(choices.begin(), choices.end(), value.get_ref<const std::string&>());
  return static_cast<Enum>(found - choices.begin());
}

struct Store {
  const Key& key;
  const Json& value;

  void operator()(Precision* field) const {
    *field = value.get<bool>() ? Precision::kBf16 : Precision::kFp32;
  }
  void operator()(const Betas& field) const {
    *field.first = value[0].get<double>();
    *field.second = value[1].get<double>();
  }
  void operator()(std::vector<IoDeviceConfig>* field) const {
    field->clear();
    for (const Json& device : value) {
      field->push_back({device["path"].get<std::string>(),
                        device["read_bytes_per_second"].get<std::uint64_t>(),
                        device["write_bytes_per_second"].get<std::uint64_t>()});
    }
  }
  void operator()(std::string* field) const { *field = value.get<std::string>(); }
  void operator()(std::optional<std::uint64_t>* field) const {
    *field = value.get<std::uint64_t>();
  }
  template <class T>
  void operator()(T* field) const {
    if constexpr (std::is_enum_v<T>) {
      *field = enumerator_of<T>(key, value);
    } else if (value.is_string()) {
      *field = static_cast<T>(kAutoBytes);
    } else {
      *field = value.get<T>();
    }
  }
};

struct Load {
  const Key& key;

  Json operator()(const Precision* field) const { return *field == Precision::kBf16; }
  Json operator()(const Betas& field) const { return Json::array({*field.first, *field.second}); }
  Json operator()(const std::vector<IoDeviceConfig>* field) const {
    Json devices = Json::array();
    for (const IoDeviceConfig& device : *field) {
      devices.push_back({{"path", device.path},
                         {"read_bytes_per_second", device.read_bytes_per_second},
                         {"write_bytes_per_second", device.write_bytes_per_second}});
    }
    return devices;
  }
  Json operator()(const std::string* field) const {
    return field->empty() && key.default_text == "null" ? Json() : Json(*field);
  }
  Json operator()(const std::optional<std::uint64_t>* field) const {
    return field->has_value() ? Json(**field) : Json();
  }
  template <class T>
  Json operator()(const T* field) const {
    if constexpr (std::is_enum_v<T>) {
      return split_choices(key.choices)[static_cast<std::size_t>(*field)];
    } else {
      return key.type == Type::kBytes && static_cast<std::uint64_t>(*field) == kAutoBytes
                 ? Json("auto")
                 : Json(*field);
    }
  }
};

}  // namespace

std::string describe(const Json& value) {
  switch (value.type()) {
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "a list" + (value.size() <= 4 ? " " + value.dump().substr(0, kShownMax) : "");
    case Json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      const bool is_long = text.size() > kShownMax;
      return concat("the text \"", text.substr(0, kShownMax), is_long ? "...\"" : "\"");
    }
    default:
      return value.dump();
  }
}

Result<Json> normalise(const Key& key, const Json& value) {
  if (value.is_null() && key.default_text == "null") {
    return value;
  }
  switch (key.type) {
    case Type::kSection:
      return value.is_object() ? Result<Json>(value) : wrong("an object", value);
    case Type::kBool:
      return value.is_boolean() ? Result<Json>(value) : wrong("true or false", value);
    case Type::kInteger:
      return normalise_integer(key, value);
    case Type::kNumber:
      return normalise_number(key, value);
    case Type::kText:
      return normalise_text(key, value);
    case Type::kBytes:
      return normalise_bytes(key, value);
    case Type::kBetas:
      return normalise_betas(value);
    case Type::kDevices:
      return normalise_devices(value);
    case Type::kList:
      return value.is_array() ? Result<Json>(value) : wrong("a list", value);
    case Type::kAny:
      return value;
  }
  return value;
}

Json default_of(const Key& key) {
  Result<Json> value = normalise(key, Json::parse(key.default_text, nullptr, false));
  STEPWELL_CHECK(value.ok(), concat("default of ", key.path, ": ", value.status().message()));
  return std::move(value).value();
}

bool asks_for_nothing(const Key& key, const Json& value) {
  if (key.effect == Effect::kRefused && value == default_of(key)) {
    return true;
  }
  return !key.always.empty() && value == Json::parse(key.always, nullptr, false);
}

void store(const Key& key, const Json& value, Config& config) {
  if (!value.is_null()) {
    std::visit(Store{key, value}, key.field(config));
  }
}

Json load_value(const Key& key, const Config& config) {
  Config copy = config;  // the accessors of the table are for writing
  return std::visit([&key](auto field) { return Load{key}(field); }, key.field(copy));
}

}  // namespace stepwell::config
