// Runs of bfloat16 pairs along the depth; only for files compiled with AVX512_BF16.
#pragma once

#include "cpu/bfloat16_multiplier.h"
#include "cpu/thin_gemm.h"

namespace retro::cpu {

template <>
struct RunReader<Bfloat16Multiplier> {
  static constexpr int64_t kRun = 32;
  [[gnu::always_inline]] static inline Vec<float, 64> read(const float* from) {
    return (__m512)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 16), _mm512_loadu_ps(from));
  }
  [[gnu::always_inline]] static inline Vec<float, 64> read_part(const float* from, int64_t count) {
    const auto mask = static_cast<uint32_t>((uint64_t{1} << count) - 1);
    const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from);
    const __m512 high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), from + 16);
    return (__m512)_mm512_cvtne2ps_pbh(high, low);
  }
  [[gnu::always_inline]] static inline Vec<float, 64> add(Vec<float, 64> sum, Vec<float, 64> a,
                                                          Vec<float, 64> b) {
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
  }
};

}  // namespace retro::cpu
