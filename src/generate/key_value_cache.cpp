#include "retro/generate/key_value_cache.h"

#include <ATen/ops/zeros.h>

namespace retro {

namespace {

std::vector<at::Tensor> cloned(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

}  // namespace

KeyValueCache::KeyValueCache(const ModelConfig& config, int64_t window_length, at::Device device) {
  const at::TensorOptions options(device);
  const int64_t key_heads =
      config.block.key_value_heads > 0 ? config.block.key_value_heads : config.heads;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    key_NGA.push_back(at::zeros({window_length, key_heads, config.head_width}, options));
    value_NGA.push_back(at::zeros({window_length, key_heads, config.head_width}, options));
  }
  is_real_N = at::zeros({window_length}, options.dtype(at::kBool));
  chunk_hidden_MD = at::zeros({config.chunk_length, config.width}, options);
}

KeyValueCache KeyValueCache::clone() const {
  // The encoded neighbours are never written again, so they are shared.
  KeyValueCache copy = *this;
  copy.key_NGA = cloned(key_NGA);
  copy.value_NGA = cloned(value_NGA);
  copy.is_real_N = is_real_N.clone();
  copy.chunk_hidden_MD = chunk_hidden_MD.clone();
  return copy;
}

void KeyValueCache::clear() {
  length = 0;
  dropped_chunks = 0;
  is_real_N.zero_();
  cross = {};
  tokens.clear();
  is_padding.clear();
  neighbours.clear();
}

}  // namespace retro
