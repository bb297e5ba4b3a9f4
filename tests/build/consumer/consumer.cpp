// Ten lines of somebody else's program: the nearest of two keys, and a norm from the tensor half.
#include <cmath>
#include <vector>

#include <ATen/ATen.h>

#include "retro/ops/rms_norm.h"
#include "retro/retrieval/exact_search.h"

int main() {
  const std::vector<float> keys = {0, 0, 3, 4}, query = {3, 3};
  std::vector<int64_t> ids(1);
  std::vector<float> distances(1);
  retro::exact_search(keys, query, 2, 1, {}, 1, ids, distances);
  const double norm = retro::rms_norm(at::ones({1, 4}), at::ones({4})).sum().item<double>();
  return ids[0] == 1 && distances[0] == 1.0F && std::abs(norm - 4) < 1e-4 ? 0 : 1;
}
