#include "cpu/cpu_features.h"

#include <cpuid.h>

namespace retro::cpu {

namespace {

struct Leaf {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
};

/// Zeros where the CPU has no such leaf.
Leaf cpuid_leaf(unsigned leaf, unsigned sub_leaf) {
  Leaf result;
  __get_cpuid_count(leaf, sub_leaf, &result.eax, &result.ebx, &result.ecx, &result.edx);
  return result;
}

}  // namespace

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

// Asked once: every product asks, and a virtual machine leaves to its host at each cpuid.
bool has_avx512_bfloat16() {
  static const bool has_it =
      has_avx512() && cpuid_leaf(7, 0).eax >= 1 && (cpuid_leaf(7, 1).eax & (1U << 5)) != 0;
  return has_it;
}

bool has_amx_bfloat16() {
  static const bool has_it = has_avx512() && (cpuid_leaf(7, 0).edx & (1U << 22)) != 0;
  return has_it;
}

}  // namespace retro::cpu
