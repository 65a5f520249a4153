#include "tools/swap_bench/pattern.h"

#include <vector>

#include "stepwell/check.h"
#include "tools/swap_bench/random_bytes.h"

namespace stepwell::swap_bench {
namespace {

using io::Direction;

/// Each direction goes through the blocks in order.
class InOrder final : public Pattern {
 public:
  explicit InOrder(const PatternOptions& options)
      : options_(options),
        blocks_(options.volume_bytes / options.block_bytes),
        random_(options.seed) {
    STEPWELL_CHECK(blocks_ > 0, "a volume smaller than a block");
  }

  std::optional<Step> next(std::uint64_t /*slot*/) override {
    const bool write = options_.workload == Workload::kWrite ||
                       (options_.workload == Workload::kMixed && random_.below(2) == 1);
    std::uint64_t& block = write ? write_block_ : read_block_;
    if (options_.once && block == blocks_) {
      return std::nullopt;
    }
    const std::uint64_t offset = block++ % blocks_ * options_.block_bytes;
    return Step{write ? Direction::kWrite : Direction::kRead, offset, options_.block_bytes};
  }

 private:
  const PatternOptions options_;
  const std::uint64_t blocks_;
  Random random_;
  std::uint64_t read_block_ = 0;
  std::uint64_t write_block_ = 0;
};

class LayerWalk final : public Pattern {
 public:
  explicit LayerWalk(const PatternOptions& options)
      : layer_bytes_(options.layer_bytes),
        layers_(options.volume_bytes / options.layer_bytes),
        to_write_(options.slots) {
    STEPWELL_CHECK(layers_ > 0, "a volume smaller than a layer");
  }

  std::optional<Step> next(std::uint64_t slot) override {
    if (to_write_[slot]) {
      const Step step{Direction::kWrite, *to_write_[slot], layer_bytes_};
      to_write_[slot].reset();
      return step;
    }
    const std::uint64_t turn = turn_++ % (2 * layers_);
    const bool forward = turn < layers_;
    const std::uint64_t layer = forward ? turn : 2 * layers_ - 1 - turn;
    if (!forward) {
      to_write_[slot] = layer * layer_bytes_;
    }
    return Step{Direction::kRead, layer * layer_bytes_, layer_bytes_};
  }

 private:
  const std::uint64_t layer_bytes_;
  const std::uint64_t layers_;
  std::vector<std::optional<std::uint64_t>> to_write_;  // offset of the layer a buffer holds
  std::uint64_t turn_ = 0;
};

}  // namespace

std::unique_ptr<Pattern> make_pattern(const PatternOptions& options) {
  if (options.workload == Workload::kLayerWalk) {
    return std::make_unique<LayerWalk>(options);
  }
  return std::make_unique<InOrder>(options);
}

}  // namespace stepwell::swap_bench
