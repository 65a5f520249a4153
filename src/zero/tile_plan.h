// Cuts the shards of all parameters into tiles: the unit in which optimizer states move and are
// updated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stepwell::zero {

/// Part of one parameter's shard inside a tile.
struct Segment {
  std::uint32_t parameter = 0;  // index into the list of parameters
  std::uint64_t first_element =
      0;  // in the parameter's shard; a multiple of optim::kNormBlockElements
  std::uint64_t elements = 0;
  std::uint64_t tile_offset = 0;  // in the tile, elements; a multiple of kTileAlignment
};

/// Elements of one tile; segments in the order of parameters.
struct Tile {
  std::uint64_t elements = 0;  // with alignment gaps; a multiple of kTileAlignment
  std::vector<Segment> segments;
};

/// Segments start on 64 bytes of fp32.
inline constexpr std::uint64_t kTileAlignment = 16;

/// Tiles of at most about `tile_elements` (at least one norm block): whole parameters are put
/// together until the next one does not fit; one that is larger than a tile is cut. Depends on
/// nothing but its arguments, so results do not depend on budgets.
std::vector<Tile> make_tiles(std::span<const std::uint64_t> shard_elements,
                             std::uint64_t tile_elements);

}  // namespace stepwell::zero
