// bfloat16 as an element type of the parity tests.
#pragma once

#include <cuda_bf16.h>

#include "parity.h"

namespace retro::testing {

template <>
struct Element<__nv_bfloat16> {
  static __nv_bfloat16 from(double value) { return __float2bfloat16_rn(static_cast<float>(value)); }
  static double widen(__nv_bfloat16 value) { return __bfloat162float(value); }
};

}  // namespace retro::testing
