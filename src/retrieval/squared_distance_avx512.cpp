// Compiled with -mavx512f; called only where the CPU has it.
#include "squared_distance_tile.h"

namespace retro {

void squared_distances_avx512(const float* queries_XQ, int64_t num_queries, const float* keys_CQ,
                              int64_t num_keys, int64_t width, float* distances_XC) {
  distance_grid<16, 4, 4>(queries_XQ, num_queries, keys_CQ, num_keys, width, distances_XC);
}

}  // namespace retro
