#include "src/zero/tile_plan.h"

#include <algorithm>

#include "src/optim/kernels.h"
#include "stepwell/bytes.h"

namespace stepwell::zero {

std::vector<Tile> make_tiles(std::span<const std::uint64_t> shard_elements,
                             std::uint64_t tile_elements) {
  const std::uint64_t capacity =
      std::max(align_down(tile_elements, optim::kNormBlockElements), optim::kNormBlockElements);
  std::vector<Tile> tiles;
  for (std::uint32_t parameter = 0; parameter < shard_elements.size(); ++parameter) {
    const std::uint64_t total = shard_elements[parameter];
    for (std::uint64_t first = 0; first < total;) {
      const std::uint64_t count = std::min(total - first, capacity);
      if (tiles.empty() || tiles.back().elements + count > capacity) {
        tiles.emplace_back();
      }
      Tile& tile = tiles.back();
      tile.segments.push_back({.parameter = parameter,
                               .first_element = first,
                               .elements = count,
                               .tile_offset = tile.elements});
      tile.elements += align_up(count, kTileAlignment);
      first += count;
    }
  }
  return tiles;
}

}  // namespace stepwell::zero
