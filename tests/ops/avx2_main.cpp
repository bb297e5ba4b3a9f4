// Runs the operations' tests on the kernels of machines without AVX-512 (bfloat16 then goes through
// ATen).
#include <gtest/gtest.h>

#include "cpu/kernels.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  retro::cpu::use_kernels(retro::cpu::avx2_kernels());
  return RUN_ALL_TESTS();
}
