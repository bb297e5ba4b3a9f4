// Products of bfloat16 pairs with float32 sums; only for files compiled with AVX512_BF16.
#pragma once

#include <immintrin.h>

#include "cpu/pack.h"

namespace retro::cpu {

/// sum += a0 * b0 + a1 * b1 with bfloat16 factors. A depth step is a pair of elements, rounded to
/// bfloat16 (to nearest, ties to even) while they are packed; a packed pair travels in the bits of
/// a float.
struct Bfloat16Multiplier {
  using Element = float;
  using Packed = float;
  static constexpr int kBytes = 64;
  static constexpr int64_t kDepthStep = 2;

  [[gnu::always_inline]] static inline Vec<float, 64> add(Vec<float, 64> sum, float a,
                                                          Vec<float, 64> b) {
    return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_ps(a), (__m512bh)b);
  }
};

template <>
struct Packer<Bfloat16Multiplier> {
  static constexpr int64_t kLanes = 16;

  template <typename Panels>
  static void pack(const Strip<float>& strip, const Panels& panels, float* to) {
    if (strip.depth_stride == 1) {
      for (int64_t p = 0; p < panels.count; ++p) pack_along_depth(strip, panels, p, to);
      return;
    }
    for (int64_t p = 0; p < panels.count; p += kPanelGroup) {
      const int64_t end = p + kPanelGroup < panels.count ? p + kPanelGroup : panels.count;
      pack_along_lanes(strip, panels, p, end, to);
    }
  }

 private:
  /// The lowest min(count, 16) lanes; none for count <= 0.
  [[gnu::always_inline]] static inline __mmask16 first_lanes(int64_t count) {
    if (count >= kLanes) return 0xFFFF;
    return static_cast<__mmask16>(count <= 0 ? 0 : (1U << count) - 1U);
  }

  /// 16 pairs (low_i, high_i) from two runs of 16.
  [[gnu::always_inline]] static inline __m512 pairs(__m512 low, __m512 high) {
    return (__m512)_mm512_cvtne2ps_pbh(high, low);
  }

  template <typename Panels>
  static void pack_along_lanes(const Strip<float>& strip, const Panels& panels, int64_t begin,
                               int64_t end, float* to) {
    alignas(64) static constexpr uint16_t kZip[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                      21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                      11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i zip = _mm512_load_si512(kZip);
    for (int64_t k = 0; k < strip.depth; k += 2) {
      const float* row = strip.data + k * strip.depth_stride;
      for (int64_t p = begin; p < end; ++p) {
        const int64_t width = panels.width(p);
        float* panel = to + panels.offset(p) + k / 2 * width;
        for (int64_t lane = 0; lane < width; lane += kLanes) {
          const float* from = row + panels.begin(p) + lane;
          const __mmask16 mask = first_lanes(strip.lanes - panels.begin(p) - lane);
          const __m512 low = _mm512_maskz_loadu_ps(mask, from);
          const __m512 high = k + 1 < strip.depth
                                  ? _mm512_maskz_loadu_ps(mask, from + strip.depth_stride)
                                  : _mm512_setzero_ps();
          const __m512i zipped = _mm512_permutexvar_epi16(zip, (__m512i)pairs(low, high));
          if (k + 2 < strip.depth) {
            _mm512_storeu_ps(panel + lane, (__m512)zipped);
          } else {  // nothing may run over into the next panel
            _mm512_mask_storeu_ps(panel + lane, first_lanes(width - lane), (__m512)zipped);
          }
        }
      }
    }
  }

  template <typename Panels>
  static void pack_along_depth(const Strip<float>& strip, const Panels& panels, int64_t p,
                               float* to) {
    const int64_t width = panels.width(p);
    float* panel = to + panels.offset(p);
    for (int64_t k = 0; k < strip.depth; k += 2 * kLanes) {
      for (int64_t lane = 0; lane < width; lane += kLanes) {
        pack_square(strip, panels.begin(p) + lane, k, panel + k / 2 * width + lane, width);
      }
    }
  }

  [[gnu::always_inline]] static inline void pack_square(const Strip<float>& strip, int64_t lane,
                                                        int64_t k, float* to, int64_t width) {
    const int64_t depth = strip.depth - k;
    const __mmask16 low = first_lanes(depth);
    const __mmask16 high = first_lanes(depth - kLanes);
    Vec<float, 64> rows[kLanes];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes; ++i) {
      const float* row = strip.data + (lane + i) * strip.lane_stride + k;
      rows[i] = lane + i < strip.lanes ? pairs(_mm512_maskz_loadu_ps(low, row),
                                               _mm512_maskz_loadu_ps(high, row + kLanes))
                                       : _mm512_setzero_ps();
    }
    transpose<float, 64>(rows);
    if (depth >= 2 * kLanes) {
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLanes; ++i) _mm512_storeu_ps(to + i * width, rows[i]);
    } else {
      for (int64_t i = 0; i < (depth + 1) / 2; ++i) _mm512_storeu_ps(to + i * width, rows[i]);
    }
  }
};

}  // namespace retro::cpu
