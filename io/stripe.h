// Where the bytes of a volume lie on its members.
//
// Members take turns in stripes, each as often in a cycle as its weight asks for, as evenly spread
// as possible (smooth weighted round-robin). With one member the volume is its file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepwell/status.h"

namespace stepwell::io {

class StripeLayout {
 public:
  /// A run of bytes of the volume that is one run on one member.
  struct Piece {
    std::uint32_t member = 0;
    std::uint64_t member_offset = 0;
    std::uint64_t volume_offset = 0;
    std::uint64_t size_bytes = 0;
  };

  /// Most stripes of a cycle: weights are rounded to shares of it, but no member gets none.
  static constexpr std::uint32_t kCycleMax = 64;

  /// `weights`: any positive scale, one a member. kInvalidArgument: none, not positive, not finite,
  /// more than kCycleMax members, a stripe of 0 bytes.
  static Result<StripeLayout> create(std::span<const double> weights, std::uint64_t stripe_bytes);

  /// The first piece of the `size_bytes` (above 0) from `offset` on; neighbouring stripes of one
  /// member are one piece.
  Piece first_piece(std::uint64_t offset, std::uint64_t size_bytes) const;
  /// Bytes that `member` needs for a volume of `total_bytes`.
  std::uint64_t member_bytes(std::uint32_t member, std::uint64_t total_bytes) const;
  std::uint32_t member_count() const { return static_cast<std::uint32_t>(shares_.size()); }
  std::uint64_t stripe_bytes() const { return stripe_bytes_; }
  /// Stripes of `member` in a cycle of cycle_stripes().
  std::uint32_t share_of(std::uint32_t member) const { return shares_[member]; }
  std::uint32_t cycle_stripes() const { return static_cast<std::uint32_t>(turns_.size()); }

 private:
  struct Turn {
    std::uint32_t member = 0;
    std::uint32_t index = 0;  // how many stripes of the member came before in the cycle
  };
  std::uint64_t stripe_bytes_ = 0;
  std::vector<std::uint32_t> shares_;
  std::vector<Turn> turns_;
};

}  // namespace stepwell::io
