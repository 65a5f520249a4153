// Inputs for kernel tests: ordinary numbers mixed with every special kind, at odd addresses.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "src/optim/kernels.h"

namespace stepwell::optim {

inline std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> tables;
  for (const InstructionSet set :
       {InstructionSet::kScalar, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (const Kernels* table = kernels_for(set)) {
      tables.push_back(table);
    }
  }
  return tables;
}

/// Same bits, or both NaN (which NaN an operation passes on is the processor's choice).
inline bool same(float left, float right) {
  return (std::isnan(left) && std::isnan(right)) ||
         std::bit_cast<std::uint32_t>(left) == std::bit_cast<std::uint32_t>(right);
}

/// A copy of `values` that starts `offset` elements after an allocation: unaligned for vectors.
template <class T>
class Shifted {
 public:
  Shifted(const std::vector<T>& values, std::uint64_t offset) : offset_(offset) {
    storage_.resize(offset);
    storage_.insert(storage_.end(), values.begin(), values.end());
  }
  T* data() { return storage_.data() + offset_; }
  std::vector<T> values() const {
    return {storage_.begin() + std::ptrdiff_t(offset_), storage_.end()};
  }

 private:
  std::uint64_t offset_;
  std::vector<T> storage_;
};

class Inputs {
 public:
  explicit Inputs(std::uint32_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  float ordinary() { return std::normal_distribution<float>(0.0F, 1.0F)(random_); }

  /// `special_every` n: about one in n is a zero, denormal, infinity, NaN, extreme or any pattern.
  std::vector<float> floats(std::uint64_t count, std::uint64_t special_every) {
    std::vector<float> values(count);
    for (float& value : values) {
      value = special_every != 0 && below(special_every) == 0 ? special() : ordinary();
    }
    return values;
  }

  std::vector<BFloat16> patterns(std::uint64_t count) {
    std::vector<BFloat16> values(count);
    for (BFloat16& value : values) {
      value.bits = static_cast<std::uint16_t>(random_());
    }
    return values;
  }

 private:
  float special() {
    using Limits = std::numeric_limits<float>;
    switch (below(10)) {
      case 0:
        return 0.0F;
      case 1:
        return -0.0F;
      case 2:
        return Limits::infinity();
      case 3:
        return -Limits::infinity();
      case 4:
        return Limits::quiet_NaN();
      case 5:
        return Limits::denorm_min() * static_cast<float>(below(1000));
      case 6:
        return Limits::max();
      case 7:
        return Limits::min();
      case 8:
        return std::bit_cast<float>(0x7f800001U);  // signalling NaN
      default:
        return std::bit_cast<float>(static_cast<std::uint32_t>(random_()));
    }
  }

  std::mt19937 random_;
};

}  // namespace stepwell::optim
