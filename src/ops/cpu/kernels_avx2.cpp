#include "cpu/kernels_impl.h"

namespace retro::cpu {

const Kernels& avx2_kernels() {
  static const Kernels kernels = make_kernels<32>("avx2");
  return kernels;
}

}  // namespace retro::cpu
