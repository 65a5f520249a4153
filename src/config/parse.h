// From JSON to Config: walks the input against the table, stores what has an effect, notes what has
// none, refuses the rest, and checks what one key cannot know alone.
#pragma once

#include <cstdint>

#include "src/config/json_text.h"
#include "stepwell/config.h"

namespace stepwell::config {

/// Errors that one message lists at most.
inline constexpr std::size_t kErrorsMax = 10;

/// See Config::parse. Never throws.
Result<Config> parse_json(const Json& root, std::uint64_t ranks);

}  // namespace stepwell::config
