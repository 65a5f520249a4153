// JSON as people write it: comments and trailing commas allowed, duplicate keys and deep nesting
// not.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "stepwell/status.h"

namespace stepwell::config {

using Json = nlohmann::json;

/// Deepest nesting of objects and lists that read_json accepts.
inline constexpr std::size_t kDepthMax = 32;

/// `text` with comments (// to the end of the line, # likewise, /* */) and commas before a closing
/// bracket replaced by blanks, so that lines and columns stay what they were. Strings are left
/// alone. kInvalidArgument: a comment that does not end.
Result<std::string> blank_comments(const std::string& text);

/// Reads one JSON value. Never throws. kInvalidArgument: a syntax error with line and column, keys
/// that occur twice in one object (all of them, by full path), too deep.
Result<Json> read_json(const std::string& text);

}  // namespace stepwell::config
