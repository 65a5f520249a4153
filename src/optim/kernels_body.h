// The kernels, written once over a vector type. Included only by kernels_<set>.cc.
//
// Note [One copy a set]: everything here is in an unnamed namespace and calls no inline function of
// the standard library. Each including file is compiled for its own instruction set; a function
// with external linkage would be emitted by several of them, and the linker might keep the AVX-512
// copy for every caller, also on machines without it.
//
// A vector type `Wide` gives:
//   Float, Bits          kWidth floats; kWidth unsigned 32-bit integers, both with + - * / & >> <<
//   load, store, broadcast, sqrt, bits, floats (reinterpretation)
//   load_bf16, store_bf16          16-bit patterns to and from the low halves of Bits
//   quiet_nan(x, bits)             `bits`, and kNanBf16 in the lanes where x is NaN
//   store_where_unequal(to, x, left, right)  stores the lanes where left != right, counts them
//   Squares              the eight lanes of a sum of squares: add(x, index), store
// `Narrow` below is the one for a single element; it does the ends of ranges, and is all there is
// of the scalar set. Arithmetic is by operators and each is rounded by itself, in both, so the
// result of an element does not depend on where in a range it stands.
#pragma once

#include <cstdint>

#include "src/optim/kernels.h"

namespace stepwell::optim {
namespace {

constexpr std::uint32_t kNanBf16 = 0x7fc0;
constexpr std::uint64_t kSquareLanes = 8;

struct Narrow {
  using Float = float;
  using Bits = std::uint32_t;
  static constexpr std::uint64_t kWidth = 1;

  static Float load(const float* from) { return *from; }
  static void store(float* to, Float x) { *to = x; }
  static Float broadcast(float x) { return x; }
  static Bits broadcast_bits(std::uint32_t x) { return x; }
  static Float sqrt(Float x) { return __builtin_sqrtf(x); }
  static Bits bits(Float x) { return __builtin_bit_cast(Bits, x); }
  static Float floats(Bits x) { return __builtin_bit_cast(Float, x); }
  static Bits load_bf16(const BFloat16* from) { return from->bits; }
  static void store_bf16(BFloat16* to, Bits x) { to->bits = static_cast<std::uint16_t>(x); }
  static Bits quiet_nan(Float x, Bits rounded) { return x != x ? kNanBf16 : rounded; }
  static std::uint64_t store_where_unequal(float* to, Float x, Bits left, Bits right) {
    if (left == right) {
      return 0;
    }
    *to = x;
    return 1;
  }

  struct Squares {
    double lanes[kSquareLanes] = {};
    void add(Float x, std::uint64_t index) {
      lanes[index % kSquareLanes] += static_cast<double>(x) * static_cast<double>(x);
    }
    void store(double* to) const {
      for (std::uint64_t lane = 0; lane < kSquareLanes; ++lane) {
        to[lane] = lanes[lane];
      }
    }
  };
};

/// Calls step(Wide, index) over whole vectors, then step(Narrow, index) over the rest.
template <class Wide, class Step>
inline __attribute__((always_inline)) void for_each_vector(std::uint64_t count, const Step& step) {
  std::uint64_t index = 0;
  for (; count - index >= Wide::kWidth; index += Wide::kWidth) {
    step(Wide{}, index);
  }
  if constexpr (Wide::kWidth > 1) {
    for (; index < count; ++index) {
      step(Narrow{}, index);
    }
  }
}

template <class Wide, bool kWithL2>
void adam_over(
    const AdamScalars& scalars, float* p, float* m, float* v, const float* g, std::uint64_t count) {
  // A copy: stores through p, m and v could change `scalars` for all the compiler knows.
  const AdamScalars s = scalars;
  for_each_vector<Wide>(
      count, [&]<class V>(V, std::uint64_t i) __attribute__((always_inline)) {
        using Float = typename V::Float;
        Float weight = V::load(p + i);
        Float gradient = V::load(g + i) * V::broadcast(s.grad_scale);
        if constexpr (kWithL2) {
          gradient = gradient + V::broadcast(s.l2) * weight;
        }
        const Float mean =
            V::broadcast(s.beta1) * V::load(m + i) + V::broadcast(s.one_minus_beta1) * gradient;
        const Float square = V::broadcast(s.beta2) * V::load(v + i) +
                             (V::broadcast(s.one_minus_beta2) * gradient) * gradient;
        const Float divisor = V::sqrt(square) / V::broadcast(s.bias2_sqrt) + V::broadcast(s.eps);
        weight =
            weight * V::broadcast(s.decay_factor) - V::broadcast(s.step_size) * (mean / divisor);
        V::store(m + i, mean);
        V::store(v + i, square);
        V::store(p + i, weight);
      });
}

template <class Wide>
void adam(
    const AdamScalars& scalars, float* p, float* m, float* v, const float* g, std::uint64_t count) {
  // Without L2 the term is left out, not multiplied by 0: 0 * infinity would be NaN.
  if (scalars.l2 != 0.0F) {
    adam_over<Wide, true>(scalars, p, m, v, g, count);
  } else {
    adam_over<Wide, false>(scalars, p, m, v, g, count);
  }
}

template <class V>
typename V::Float load_as_float(const float* from) {
  return V::load(from);
}

template <class V>
typename V::Float load_as_float(const BFloat16* from) {
  return V::floats(V::load_bf16(from) << 16);
}

template <class V, class Source>
inline typename V::Float accumulate_vector(float* destination, const Source* source, bool add) {
  typename V::Float x = load_as_float<V>(source);
  if (add) {
    x = V::load(destination) + x;
  }
  V::store(destination, x);
  return x;
}

template <class Wide, class Source>
double accumulate(float* destination, const Source* source, std::uint64_t count, bool add) {
  typename Wide::Squares squares;
  std::uint64_t index = 0;
  for (; count - index >= Wide::kWidth; index += Wide::kWidth) {
    squares.add(accumulate_vector<Wide>(destination + index, source + index, add), index);
  }
  Narrow::Squares lanes;
  squares.store(lanes.lanes);
  for (; index < count; ++index) {
    lanes.add(accumulate_vector<Narrow>(destination + index, source + index, add), index);
  }
  double sum = 0.0;
  for (const double lane : lanes.lanes) {
    sum += lane;
  }
  return sum;
}

/// The bf16 pattern nearest to x, ties to even, in the low half of each lane. Adding 0x7fff and the
/// lowest kept bit carries into the kept half exactly when the dropped half is above one half, or
/// is one half and the kept half is odd.
template <class V>
inline typename V::Bits round_to_bf16(typename V::Float x) {
  const typename V::Bits bits = V::bits(x);
  const typename V::Bits odd = (bits >> 16) & V::broadcast_bits(1);
  return V::quiet_nan(x, (bits + V::broadcast_bits(0x7fff) + odd) >> 16);
}

template <class Wide>
void f32_to_bf16(BFloat16* destination, const float* source, std::uint64_t count) {
  for_each_vector<Wide>(
      count, [&]<class V>(V, std::uint64_t i) __attribute__((always_inline)) {
        V::store_bf16(destination + i, round_to_bf16<V>(V::load(source + i)));
      });
}

template <class Wide>
void bf16_to_f32(float* destination, const BFloat16* source, std::uint64_t count) {
  for_each_vector<Wide>(
      count, [&]<class V>(V, std::uint64_t i) __attribute__((always_inline)) {
        V::store(destination + i, load_as_float<V>(source + i));
      });
}

template <class Wide>
std::uint64_t follow_bf16(float* master, const BFloat16* value, std::uint64_t count) {
  std::uint64_t changed = 0;
  for_each_vector<Wide>(
      count, [&]<class V>(V, std::uint64_t i) __attribute__((always_inline)) {
        const typename V::Bits wanted = V::load_bf16(value + i);
        const typename V::Bits held = round_to_bf16<V>(V::load(master + i));
        changed += V::store_where_unequal(master + i, V::floats(wanted << 16), held, wanted);
      });
  return changed;
}

template <class Wide>
constexpr Kernels make_kernels(InstructionSet set) {
  return Kernels{.instruction_set = set,
                 .adam = adam<Wide>,
                 .accumulate_f32 = accumulate<Wide, float>,
                 .accumulate_bf16 = accumulate<Wide, BFloat16>,
                 .f32_to_bf16 = f32_to_bf16<Wide>,
                 .bf16_to_f32 = bf16_to_f32<Wide>,
                 .follow_bf16 = follow_bf16<Wide>};
}

}  // namespace
}  // namespace stepwell::optim
