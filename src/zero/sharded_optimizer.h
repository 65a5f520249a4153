// Gradients, optimizer states and the update of this rank's shards: one code path for every ZeRO
// stage and tier.
//
// States live in pages, one a tile: first moments, second moments and, where the parameter is not
// fp32, the fp32 master copy, back to back. Gradients live in another page a tile, whose content is
// dead after the update. The page table decides where they are; the arithmetic does not depend on
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/optim/kernels.h"
#include "src/residency/page_table.h"
#include "src/zero/tile_plan.h"
#include "stepwell/status.h"

namespace stepwell::zero {

enum class ElementType : std::uint8_t { kFloat32, kBfloat16 };
constexpr std::uint64_t size_of(ElementType type) {
  return type == ElementType::kFloat32 ? 4 : 2;
}

/// A trainable parameter: a range of elements of a page.
struct ShardedParameter {
  std::string name;
  PageId page;
  std::uint64_t page_bytes = 0;
  std::uint64_t offset_bytes = 0;  // of the first element in the page
  std::uint64_t elements = 0;
  ElementType type = ElementType::kFloat32;
  /// Changes made outside of the optimizer are not counted by the page table (a page that never
  /// moves is not watched): a 16-bit weight is compared with its master copy in every step.
  bool unwatched = false;
};

struct ShardedOptimizerOptions {
  optim::AdamOptions adam;
  double clip_norm = 0.0;  // global L2 norm limit; 0: no clipping
  std::uint64_t tile_elements = 4'194'304;
  Tier pool = Tier::kDevice;  // where states and gradients are used
  Tier home = Tier::kDevice;  // where they live
};

/// What a step did.
struct StepOutcome {
  bool applied = false;  // false: a gradient was inf or nan; weights and states are untouched
  double norm = 0.0;     // global L2 norm before clipping
};

enum class StateKind : std::uint8_t { kExpAvg = 0, kExpAvgSq = 1, kMaster = 2 };

/// Different parameters may accumulate from several threads at once; everything else is
/// thread-compatible.
class ShardedOptimizer {
 public:
  /// Gives the exact fp32 value of elements [first, first + count) of a parameter that is not fp32.
  using MasterSource = std::function<Status(
      std::uint32_t parameter, std::uint64_t first, std::uint64_t count, float* destination)>;

  /// Creates the pages (kNoSpace; kBudgetExceeded when the budget of `pool` cannot hold what must
  /// be there at once, with the bytes; tiles are made smaller before) and fills the master copies
  /// from `source`, tile by tile. `source` is not used when every parameter is fp32.
  static Result<std::unique_ptr<ShardedOptimizer>> create(residency::PageTable& table,
                                                          std::vector<ShardedParameter> parameters,
                                                          const ShardedOptimizerOptions& options,
                                                          const MasterSource& source);
  /// Destroys the pages.
  ~ShardedOptimizer();
  ShardedOptimizer(const ShardedOptimizer&) = delete;
  ShardedOptimizer& operator=(const ShardedOptimizer&) = delete;

  /// Adds one gradient of the whole shard, contiguous, `elements` of `type`, to what this step has.
  Status accumulate(std::uint32_t parameter, const void* gradient, ElementType type);
  /// Updates every parameter that has a gradient since the last step, as if the others were not
  /// there (their moments and step counts stay). Gradients are dead afterwards. An error leaves the
  /// step half done: the caller must not go on.
  Result<StepOutcome> step(double lr);
  /// Forgets what was accumulated.
  void drop_gradients();

  /// Contributions to `parameter` since the last step.
  std::uint64_t contributions(std::uint32_t parameter) const {
    return states_[parameter].contributions;
  }
  std::span<const ShardedParameter> parameters() const { return parameters_; }
  /// Copies a state, the fp32 weight, or the accumulated gradient of the whole shard to
  /// `destination` (elements floats).
  Status read_state(std::uint32_t parameter, StateKind kind, float* destination);
  Status read_weight(std::uint32_t parameter, float* destination);
  Status read_gradient(std::uint32_t parameter, float* destination);
  /// Bytes of states and gradients on this rank.
  std::uint64_t state_bytes() const { return state_bytes_; }
  std::uint64_t gradient_bytes() const { return gradient_bytes_; }

 private:
  struct ParameterState {
    std::uint64_t steps = 0;          // updates so far: t of Adam's bias correction
    std::uint64_t contributions = 0;  // since the last step
    std::uint64_t write_count = 0;    // of its page after our own last change
    bool changed_outside = false;     // the weight was changed by the user: the master copy follows
    std::vector<double>
        block_squares;  // sum of squares of each norm block of the accumulated gradient
  };
  struct TileState {
    Tile tile;
    PageId state_page;
    PageId gradient_page;
  };
  /// A segment and the tile it lies in.
  struct Place {
    std::uint32_t tile = 0;
    std::uint32_t segment = 0;
  };

  ShardedOptimizer(residency::PageTable& table,
                   std::vector<ShardedParameter> parameters,
                   const ShardedOptimizerOptions& options);
  Status fit_tiles();
  Status create_pages(const MasterSource& source);
  Status fill_masters(const TileState& tile, const MasterSource& source);
  Status update_tile(TileState& tile, double lr, double grad_scale);
  Status update_segment(const TileState& tile,
                        const Segment& segment,
                        const optim::AdamScalars& scalars,
                        float* state,
                        const float* gradient);
  double gradient_norm() const;
  bool has_gradient(const Tile& tile) const;
  float* state_at(std::byte* page, const Tile& tile, StateKind kind) const;
  bool has_master(const Tile& tile) const;
  template <class Function>
  Status for_each_segment(std::uint32_t parameter, bool gradient, Function function);

  residency::PageTable& table_;
  std::vector<ShardedParameter> parameters_;
  ShardedOptimizerOptions options_;
  std::vector<ParameterState> states_;
  std::vector<TileState> tiles_;
  std::vector<std::vector<Place>> places_;  // by parameter, in order of elements
  std::uint64_t state_bytes_ = 0;
  std::uint64_t gradient_bytes_ = 0;
  NameId accumulate_name_;
  NameId step_name_;
  NameId read_name_;
};

}  // namespace stepwell::zero
