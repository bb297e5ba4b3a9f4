// Compiled with AVX-512 enabled (see CMakeLists.txt); nothing here may run before the CPU was
// asked.
#include "cpu/kernels_impl.h"

namespace retro::cpu {

const Kernels& avx512_kernels() {
  static const Kernels kernels = make_kernels<64>("avx512");
  return kernels;
}

}  // namespace retro::cpu
