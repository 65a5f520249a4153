// Vectorised kernels over flat shards. Every implementation (scalar, AVX2, AVX-512) gives the same
// bits for the same input: each arithmetic step is rounded by itself (no fused multiply-add), so
// results do not depend on the machine, on how a shard is cut into tiles, or on where it lives.
#pragma once

#include <cstdint>

namespace stepwell::optim {

/// bfloat16 as its bit pattern (upper half of an IEEE binary32).
struct BFloat16 {
  std::uint16_t bits;
};

/// Options of Adam and AdamW as configured.
struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decoupled = true;  // AdamW: p -= lr*wd*p first; false: g += wd*p first
  bool bias_correction = true;
};

/// The scalars of one update, in fp32 as the kernel uses them. Made by make_adam_scalars().
struct AdamScalars {
  float beta1, one_minus_beta1, beta2, one_minus_beta2, eps;
  float step_size;     // lr / (1 - beta1^t)
  float bias2_sqrt;    // sqrt(1 - beta2^t)
  float decay_factor;  // 1 - lr*wd when decoupled, else 1
  float l2;            // wd when not decoupled, else 0
  float
      grad_scale;  // gradients are multiplied by this first (clipping and loss scale); 1: untouched
};

/// `step` counts from 1. Powers and quotients are formed in double and rounded to float once.
AdamScalars make_adam_scalars(const AdamOptions& options, std::uint64_t step, double grad_scale);

/// Elements per partial sum of squares: partial sums start at multiples of this from the start of a
/// parameter, so that a norm does not depend on how parameters are cut into tiles.
inline constexpr std::uint64_t kNormBlockElements = 16384;

enum class InstructionSet : std::uint8_t { kScalar, kAvx2, kAvx512 };
const char* to_string(InstructionSet set);

/// One table of functions an instruction set. All pointers may be unaligned, ranges must not
/// overlap unless equal.
struct Kernels {
  InstructionSet instruction_set;

  /// Per element: g' = g*grad_scale; [g' = g' + l2*p]; m = beta1*m + one_minus_beta1*g';
  /// v = beta2*v + (one_minus_beta2*g')*g'; d = sqrt(v)/bias2_sqrt + eps; p = p*decay_factor -
  /// step_size*(m/d).
  void (*adam)(const AdamScalars& scalars,
               float* p,
               float* m,
               float* v,
               const float* g,
               std::uint64_t count);

  /// destination = source, or destination += source when `add`; returns the sum of squares of the
  /// result in double: eight interleaved lanes (element i goes to lane i mod 8), lanes added in
  /// order. `count` <= kNormBlockElements.
  double (*accumulate_f32)(float* destination, const float* source, std::uint64_t count, bool add);
  double (*accumulate_bf16)(float* destination,
                            const BFloat16* source,
                            std::uint64_t count,
                            bool add);

  /// Round to nearest even; every NaN becomes 0x7fc0.
  void (*f32_to_bf16)(BFloat16* destination, const float* source, std::uint64_t count);
  void (*bf16_to_f32)(float* destination, const BFloat16* source, std::uint64_t count);
  /// Where bf16(master[i]) differs from value[i] in bits: master[i] = value[i]. Returns how many
  /// elements changed.
  std::uint64_t (*follow_bf16)(float* master, const BFloat16* value, std::uint64_t count);
};

/// The best set this machine runs (CPUID), chosen once.
const Kernels& kernels();
/// The table of `set`, or null when the machine or the build lacks it.
const Kernels* kernels_for(InstructionSet set);

/// Calls `function(begin, end)` over pieces of [0, count) on the process's worker threads (OpenMP),
/// pieces starting at multiples of `grain`. Runs inline when count <= grain.
/// No piece is longer than `grain` (above 0). Returns when all are done.
void parallel_ranges(std::uint64_t count,
                     std::uint64_t grain,
                     const void* context,
                     void (*function)(const void* context, std::uint64_t begin, std::uint64_t end));

}  // namespace stepwell::optim
