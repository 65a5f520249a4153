#include "io/stripe.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/format.h"
#include "stepwell/bytes.h"

namespace stepwell::io {

Result<StripeLayout> StripeLayout::create(std::span<const double> weights,
                                          std::uint64_t stripe_bytes) {
  const auto refuse = [](const std::string& why) {
    return Status(StatusCode::kInvalidArgument, "striping over devices: " + why);
  };
  if (weights.empty() || weights.size() > kCycleMax) {
    return refuse(concat("1 to ", kCycleMax, " devices are possible, not ", weights.size()));
  }
  if (stripe_bytes == 0) {
    return refuse("a stripe of 0 bytes");
  }
  double total = 0;
  for (const double weight : weights) {
    if (!std::isfinite(weight) || weight <= 0) {
      return refuse(concat("weight ", weight, " is not a positive number"));
    }
    total += weight;
  }
  StripeLayout layout;
  layout.stripe_bytes_ = stripe_bytes;
  for (const double weight : weights) {
    const double share = std::round(weight / total * kCycleMax);
    layout.shares_.push_back(std::max(1U, static_cast<std::uint32_t>(share)));
  }
  std::uint32_t divisor = 0;
  for (const std::uint32_t share : layout.shares_) {
    divisor = std::gcd(divisor, share);
  }
  std::uint32_t cycle = 0;
  for (std::uint32_t& share : layout.shares_) {
    share /= divisor;
    cycle += share;
  }
  // Whoever has waited most for its share goes next.
  std::vector<std::int64_t> credit(weights.size(), 0);
  std::vector<std::uint32_t> taken(weights.size(), 0);
  for (std::uint32_t turn = 0; turn < cycle; ++turn) {
    for (std::size_t member = 0; member < credit.size(); ++member) {
      credit[member] += layout.shares_[member];
    }
    const auto next = std::max_element(credit.begin(), credit.end());
    *next -= cycle;
    const auto member = static_cast<std::uint32_t>(next - credit.begin());
    layout.turns_.push_back({member, taken[member]++});
  }
  return layout;
}

StripeLayout::Piece StripeLayout::first_piece(std::uint64_t offset,
                                              std::uint64_t size_bytes) const {
  if (turns_.size() == 1) {
    return {0, offset, offset, size_bytes};
  }
  std::uint64_t stripe = offset / stripe_bytes_;
  const std::uint64_t inside = offset % stripe_bytes_;
  const Turn& turn = turns_[stripe % turns_.size()];
  const std::uint64_t cycle = stripe / turns_.size();
  Piece piece{turn.member,
              (cycle * shares_[turn.member] + turn.index) * stripe_bytes_ + inside,
              offset,
              std::min(size_bytes, stripe_bytes_ - inside)};
  while (piece.size_bytes < size_bytes) {
    ++stripe;
    if (turns_[stripe % turns_.size()].member != piece.member) {
      break;
    }
    piece.size_bytes = std::min(size_bytes, piece.size_bytes + stripe_bytes_);
  }
  return piece;
}

std::uint64_t StripeLayout::member_bytes(std::uint32_t member, std::uint64_t total_bytes) const {
  if (turns_.size() == 1) {
    return total_bytes;
  }
  const std::uint64_t stripes = div_ceil(total_bytes, stripe_bytes_);
  std::uint64_t own = stripes / turns_.size() * shares_[member];
  for (std::uint64_t turn = 0; turn < stripes % turns_.size(); ++turn) {
    own += turns_[turn].member == member ? 1U : 0U;
  }
  return own * stripe_bytes_;
}

}  // namespace stepwell::io
