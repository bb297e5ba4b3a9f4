// What this CPU and its operating system offer.
#pragma once

namespace retro::cpu {

/// AVX-512 F, BW, DQ and VL.
bool has_avx512();
/// Dot products of bfloat16 pairs.
bool has_avx512_bfloat16();
/// Tile registers with bfloat16 products.
bool has_amx_bfloat16();

}  // namespace retro::cpu
