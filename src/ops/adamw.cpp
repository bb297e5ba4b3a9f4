#include "retro/ops/adamw.h"

#include <algorithm>
#include <cmath>

#include <ATen/Parallel.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>

#include "adamw_loops.h"
#include "cuda/adamw.h"
#include "shape_check.h"

namespace retro {

namespace {

/// Long enough to amortise a task, short enough to share the embedding between threads.
constexpr int64_t kBlockSize = 1 << 15;

struct NormBlock {
  const float* values;
  int64_t size;
};

struct UpdateBlock {
  AdamWBlock arrays;
  AdamWFactors factors;
};

void update_cpu(const std::vector<AdamWTensors>& tensors) {
  std::vector<UpdateBlock> blocks;
  for (const AdamWTensors& t : tensors) {
    const int64_t size = t.parameter.numel();
    for (int64_t begin = 0; begin < size; begin += kBlockSize) {
      const AdamWBlock block{
          t.parameter.mutable_data_ptr<float>() + begin, t.gradient.const_data_ptr<float>() + begin,
          t.exp_avg.mutable_data_ptr<float>() + begin,
          t.exp_avg_sq.mutable_data_ptr<float>() + begin, std::min(kBlockSize, size - begin)};
      blocks.push_back({block, t.factors});
    }
  }
  at::parallel_for(0, static_cast<int64_t>(blocks.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto b = static_cast<size_t>(begin); b < static_cast<size_t>(end); ++b) {
      adamw_update_block(blocks[b].arrays, blocks[b].factors);
    }
  });
}

double norm_cpu(const std::vector<at::Tensor>& tensors) {
  std::vector<NormBlock> blocks;
  for (const at::Tensor& tensor : tensors) {
    const float* values = tensor.const_data_ptr<float>();
    for (int64_t begin = 0; begin < tensor.numel(); begin += kBlockSize) {
      blocks.push_back({values + begin, std::min(kBlockSize, tensor.numel() - begin)});
    }
  }
  // One sum a block, added in order: the same bits for any number of threads.
  std::vector<double> sums(blocks.size());
  at::parallel_for(0, static_cast<int64_t>(blocks.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto b = static_cast<size_t>(begin); b < static_cast<size_t>(end); ++b) {
      sums[b] = sum_of_squares(blocks[b].values, blocks[b].size);
    }
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

/// Waits for the device once.
double norm_on_device(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> norms;
  for (const at::Tensor& tensor : tensors) norms.push_back(at::linalg_vector_norm(tensor));
  return at::linalg_vector_norm(at::stack(norms).to(at::kDouble)).item<double>();
}

}  // namespace

void adamw_update(const std::vector<AdamWTensors>& tensors) {
  if (tensors.empty()) return;
  const at::Tensor& first = tensors.front().parameter;
  check_device("adamw_update", first);
  if (first.is_cpu()) {
    update_cpu(tensors);
  } else {
    cuda::adamw_update(tensors);
  }
}

double joint_norm(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) return 0;
  return tensors.front().is_cpu() ? norm_cpu(tensors) : norm_on_device(tensors);
}

}  // namespace retro
