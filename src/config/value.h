// One value against one row of the table: its type, bounds and canonical form, and how it gets in
// and out of Config.
#pragma once

#include <string>

#include "src/config/json_text.h"
#include "src/config/schema.h"

namespace stepwell::config {

/// What `value` is, for messages: "the text \"x\"", "a list", "3.5".
std::string describe(const Json& value);

/// The canonical form of `value` as `key` wants it (integers as int64, numbers as double, choices
/// in their own spelling), or an error without the key's path: what was expected and what found.
Result<Json> normalise(const Key& key, const Json& value);

/// The default of `key` in canonical form. Not for sections.
Json default_of(const Key& key);

/// Whether canonical `value` asks for nothing that this engine does not do anyway.
bool asks_for_nothing(const Key& key, const Json& value);

/// Stores canonical `value` into the field of `key`, which must have one. Null leaves it alone.
void store(const Key& key, const Json& value, Config& config);

/// The value in force.
Json load_value(const Key& key, const Config& config);

}  // namespace stepwell::config
