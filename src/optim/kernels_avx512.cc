// Sixteen elements at a time. Compiled with -mavx512{f,bw,dq,vl}; called only where CPUID has them.
#include <immintrin.h>

#include "src/optim/kernels_body.h"
#include "src/optim/kernels_tables.h"

namespace stepwell::optim {
namespace {

struct Avx512 {
  using Float = __m512;
  // A vector of 32-bit integers with operators (__m512i has those of 64-bit ones).
  typedef std::uint32_t Bits __attribute__((vector_size(64)));
  static constexpr std::uint64_t kWidth = 16;

  static Float load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Float x) { _mm512_storeu_ps(to, x); }
  static Float broadcast(float x) { return _mm512_set1_ps(x); }
  static Bits broadcast_bits(std::uint32_t x) {
    return from_i(_mm512_set1_epi32(static_cast<int>(x)));
  }
  static Float sqrt(Float x) { return _mm512_sqrt_ps(x); }
  static Bits bits(Float x) { return from_i(_mm512_castps_si512(x)); }
  static Float floats(Bits x) { return _mm512_castsi512_ps(to_i(x)); }
  static Bits load_bf16(const BFloat16* from) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return from_i(_mm512_cvtepu16_epi32(halves));
  }
  static void store_bf16(BFloat16* to, Bits x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(to_i(x)));
  }
  static Bits quiet_nan(Float x, Bits rounded) {
    const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return from_i(_mm512_mask_blend_epi32(is_nan, to_i(rounded), to_i(broadcast_bits(kNanBf16))));
  }
  static std::uint64_t store_where_unequal(float* to, Float x, Bits left, Bits right) {
    const __mmask16 unequal = _mm512_cmpneq_epi32_mask(to_i(left), to_i(right));
    _mm512_mask_storeu_ps(to, unequal, x);
    return static_cast<std::uint64_t>(__builtin_popcount(unequal));
  }

  struct Squares {
    __m512d lanes = _mm512_setzero_pd();
    void add(Float x, std::uint64_t /*index*/) {
      const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
      const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
      lanes = lanes + low * low;
      lanes = lanes + high * high;
    }
    void store(double* to) const { _mm512_storeu_pd(to, lanes); }
  };

 private:
  static Bits from_i(__m512i x) { return reinterpret_cast<Bits>(x); }
  static __m512i to_i(Bits x) { return reinterpret_cast<__m512i>(x); }
};

}  // namespace

constinit const Kernels kAvx512Kernels = make_kernels<Avx512>(InstructionSet::kAvx512);

}  // namespace stepwell::optim
