#include "adamw.h"

#include <cstring>
#include <map>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include "kernels/adamw.h"
#include "launch_support.h"

namespace retro::cuda {

namespace {

/// A table of plain structs in the device's memory.
template <typename T>
at::Tensor upload(const std::vector<T>& table, c10::Device device) {
  const at::Tensor bytes = at::empty({static_cast<int64_t>(table.size() * sizeof(T))}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), table.data(), table.size() * sizeof(T));
  return bytes.to(device);
}

/// Parameters of equal bias corrections.
struct Group {
  std::vector<kernels::AdamWTensor> tensors;
  std::vector<kernels::AdamWPiece> pieces;

  void add(const AdamWTensors& t) {
    const int64_t size = t.parameter.numel();
    for (int64_t first = 0; first < size; first += kernels::kAdamWPieceElements) {
      pieces.push_back({static_cast<int64_t>(tensors.size()), first});
    }
    tensors.push_back({write_pointer<float>(t.parameter), read_pointer<float>(t.gradient),
                       write_pointer<float>(t.exp_avg), write_pointer<float>(t.exp_avg_sq), nullptr,
                       size, t.factors.decay});
  }
};

void update(const Group& group, const AdamWFactors& factors, const at::Tensor& like) {
  const at::Tensor tensors = upload(group.tensors, like.device());
  const at::Tensor pieces = upload(group.pieces, like.device());
  const at::Tensor scale = at::full({1}, factors.gradient_scale, like.options());
  const LaunchScope scope(like);
  kernels::AdamWParams params;
  params.tensors = read_pointer<kernels::AdamWTensor>(tensors);
  params.pieces = read_pointer<kernels::AdamWPiece>(pieces);
  params.num_pieces = static_cast<int64_t>(group.pieces.size());
  params.gradient_scale = read_pointer<float>(scale);
  params.beta1 = factors.beta1;
  params.beta2 = factors.beta2;
  params.step_size = factors.step_size;
  params.root_scale = factors.root_scale;
  params.epsilon = factors.epsilon;
  kernels::launch_adamw(params, scope.stream());
}

}  // namespace

void adamw_update(const std::vector<AdamWTensors>& tensors) {
  std::map<std::pair<float, float>, std::pair<AdamWFactors, Group>> groups;
  for (const AdamWTensors& t : tensors) {
    auto& [factors, group] = groups[{t.factors.step_size, t.factors.root_scale}];
    factors = t.factors;
    group.add(t);
  }
  const at::Tensor like = tensors.front().exp_avg;
  for (const auto& [key, value] : groups) update(value.second, value.first, like);
}

}  // namespace retro::cuda
