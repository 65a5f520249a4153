// Which bytes are read and written, and in what order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "io/op.h"
#include "tools/swap_bench/setting.h"

namespace stepwell::swap_bench {

/// What one request does.
struct Step {
  io::Direction direction = io::Direction::kRead;
  std::uint64_t offset = 0;  // bytes from the start of the volume
  std::uint64_t size_bytes = 0;
};

/// Gives each free buffer its next request. Guarded by whoever uses it.
class Pattern {
 public:
  virtual ~Pattern() = default;
  /// The next request of buffer `slot`; nothing when the pattern is over.
  virtual std::optional<Step> next(std::uint64_t slot) = 0;
};

struct PatternOptions {
  Workload workload = Workload::kRead;
  std::uint64_t volume_bytes = 0;
  std::uint64_t block_bytes = 0;
  std::uint64_t layer_bytes = 0;  // of kLayerWalk
  std::uint64_t slots = 1;        // buffers
  bool once = false;              // over after one pass (kRead and kWrite)
  std::uint64_t seed = 1;
};

/// The bytes of a buffer: a block, or a layer of kLayerWalk.
///
/// kLayerWalk is a step of training whose weights live on the disk: forward reads every layer in
/// order; backward reads every layer in reverse order and writes it back once it is there. Each
/// buffer holds a layer, and as many layers are on their way as there are buffers.
std::unique_ptr<Pattern> make_pattern(const PatternOptions& options);

}  // namespace stepwell::swap_bench
