#include "embedding_cpu.h"

#include <algorithm>
#include <vector>

#include <ATen/Parallel.h>

namespace retro {

namespace {

constexpr int64_t kRowElements = 32768;

int64_t grain_rows(int64_t width) {
  return std::max<int64_t>(kRowElements / std::max<int64_t>(width, 1), 1);
}

/// Positions of the real tokens, grouped by id, in their order within each group.
struct Groups {
  std::vector<int64_t> positions;
  std::vector<int64_t> begins;  ///< of each group, and the end
};

Groups group_by_id(const EmbeddingIds& ids) {
  Groups groups;
  for (int64_t t = 0; t < ids.count; ++t) {
    if (ids.ids[t] >= 0) groups.positions.push_back(t);
  }
  std::stable_sort(groups.positions.begin(), groups.positions.end(),
                   [&](int64_t a, int64_t b) { return ids.ids[a] < ids.ids[b]; });
  for (size_t i = 0; i < groups.positions.size(); ++i) {
    if (i == 0 || ids.ids[groups.positions[i]] != ids.ids[groups.positions[i - 1]]) {
      groups.begins.push_back(static_cast<int64_t>(i));
    }
  }
  groups.begins.push_back(static_cast<int64_t>(groups.positions.size()));
  return groups;
}

}  // namespace

template <typename T>
void embedding_forward_cpu(const EmbeddingIds& ids, const T* weight, T* out) {
  at::parallel_for(0, ids.count, grain_rows(ids.width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      T* to = out + t * ids.width;
      if (ids.ids[t] < 0) {
        std::fill_n(to, ids.width, T(0));
      } else {
        std::copy_n(weight + ids.ids[t] * ids.width, ids.width, to);
      }
    }
  });
}

template <typename T>
void embedding_backward_cpu(const EmbeddingIds& ids, const T* grad, T* grad_weight) {
  const Groups groups = group_by_id(ids);
  const std::vector<int64_t>& positions = groups.positions;
  const std::vector<int64_t>& begins = groups.begins;
  const auto count = static_cast<int64_t>(begins.size()) - 1;
  at::parallel_for(0, count, grain_rows(ids.width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begins[static_cast<size_t>(begin)]; i < begins[static_cast<size_t>(end)];
         ++i) {
      const int64_t position = positions[static_cast<size_t>(i)];
      const T* from = grad + position * ids.width;
      T* to = grad_weight + ids.ids[position] * ids.width;
      for (int64_t d = 0; d < ids.width; ++d) to[d] += from[d];
    }
  });
}

template void embedding_forward_cpu<float>(const EmbeddingIds&, const float*, float*);
template void embedding_forward_cpu<double>(const EmbeddingIds&, const double*, double*);
template void embedding_backward_cpu<float>(const EmbeddingIds&, const float*, float*);
template void embedding_backward_cpu<double>(const EmbeddingIds&, const double*, double*);

}  // namespace retro
