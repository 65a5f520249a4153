// A text as byte tokens: 256 of them, no tokenizer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepwell/status.h"

namespace stepwell::data {

/// The first 90 % trains, the rest measures.
struct Text {
  std::vector<std::uint8_t> train;
  std::vector<std::uint8_t> held_out;
};

/// Reads a file; a byte order mark and carriage returns are dropped. kNotFound, kPermissionDenied,
/// kIo, and kInvalidArgument when it is a folder.
Result<Text> load_text(const std::string& path);

/// kInvalidArgument, with the sizes, unless both parts of the text called `name` hold at least one
/// window of `window_bytes`.
Status check_length(const Text& text, const std::string& name, std::uint64_t window_bytes);

/// About `size_bytes` of lines like "27+8=35", the same for the same seed: something to learn where
/// there is no text at hand.
Text make_sums(std::uint64_t seed, std::uint64_t size_bytes);

}  // namespace stepwell::data
