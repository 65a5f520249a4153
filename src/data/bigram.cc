#include "src/data/bigram.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "src/base/format.h"
#include "stepwell/check.h"

namespace stepwell::data {

double bigram_nats_per_byte(std::span<const std::uint8_t> train,
                            std::span<const std::uint8_t> held_out) {
  STEPWELL_CHECK(train.size() > 1 && held_out.size() > 1,
                 concat("pairs need two bytes, there are ", train.size(), ", ", held_out.size()));
  constexpr std::size_t kBytes = 256;
  constexpr double kAdded = 0.5;
  std::vector<double> pairs(kBytes * kBytes, kAdded);
  std::vector<double> firsts(kBytes, kAdded * kBytes);
  for (std::size_t at = 1; at < train.size(); ++at) {
    pairs[train[at - 1] * kBytes + train[at]] += 1;
    firsts[train[at - 1]] += 1;
  }
  double nats = 0;
  for (std::size_t at = 1; at < held_out.size(); ++at) {
    nats -= std::log(pairs[held_out[at - 1] * kBytes + held_out[at]] / firsts[held_out[at - 1]]);
  }
  return nats / static_cast<double>(held_out.size() - 1);
}

}  // namespace stepwell::data
