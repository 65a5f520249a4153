// Eight elements at a time. Compiled with -mavx2; called only where CPUID has it.
#include <immintrin.h>

#include "src/optim/kernels_body.h"
#include "src/optim/kernels_tables.h"

namespace stepwell::optim {
namespace {

struct Avx2 {
  using Float = __m256;
  // A vector of 32-bit integers with operators (__m256i has those of 64-bit ones).
  typedef std::uint32_t Bits __attribute__((vector_size(32)));
  static constexpr std::uint64_t kWidth = 8;

  static Float load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Float x) { _mm256_storeu_ps(to, x); }
  static Float broadcast(float x) { return _mm256_set1_ps(x); }
  static Bits broadcast_bits(std::uint32_t x) {
    return from_i(_mm256_set1_epi32(static_cast<int>(x)));
  }
  static Float sqrt(Float x) { return _mm256_sqrt_ps(x); }
  static Bits bits(Float x) { return from_i(_mm256_castps_si256(x)); }
  static Float floats(Bits x) { return _mm256_castsi256_ps(to_i(x)); }
  static Bits load_bf16(const BFloat16* from) {
    return from_i(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }
  static void store_bf16(BFloat16* to, Bits x) {
    const __m128i low = _mm256_castsi256_si128(to_i(x));
    const __m128i high = _mm256_extracti128_si256(to_i(x), 1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_packus_epi32(low, high));
  }
  static Bits quiet_nan(Float x, Bits rounded) {
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return from_i(_mm256_blendv_epi8(to_i(rounded), to_i(broadcast_bits(kNanBf16)), is_nan));
  }
  static std::uint64_t store_where_unequal(float* to, Float x, Bits left, Bits right) {
    const __m256i equal = _mm256_cmpeq_epi32(to_i(left), to_i(right));
    const __m256 mask = _mm256_castsi256_ps(equal);
    _mm256_storeu_ps(to, _mm256_blendv_ps(x, _mm256_loadu_ps(to), mask));
    const auto equal_lanes = static_cast<unsigned>(_mm256_movemask_ps(mask));
    return kWidth - static_cast<std::uint64_t>(__builtin_popcount(equal_lanes));
  }

  struct Squares {
    __m256d low = _mm256_setzero_pd();
    __m256d high = _mm256_setzero_pd();
    void add(Float x, std::uint64_t /*index*/) {
      const __m256d a = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
      const __m256d b = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
      low = low + a * a;
      high = high + b * b;
    }
    void store(double* to) const {
      _mm256_storeu_pd(to, low);
      _mm256_storeu_pd(to + 4, high);
    }
  };

 private:
  static Bits from_i(__m256i x) { return reinterpret_cast<Bits>(x); }
  static __m256i to_i(Bits x) { return reinterpret_cast<__m256i>(x); }
};

}  // namespace

constinit const Kernels kAvx2Kernels = make_kernels<Avx2>(InstructionSet::kAvx2);

}  // namespace stepwell::optim
