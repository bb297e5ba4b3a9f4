#include <algorithm>

#include "kernels/dtype.cuh"
#include "kernels/linear_cross_entropy.h"
#include "kernels/reduce.cuh"

namespace retro::kernels {

namespace {

constexpr int kThreads = 256;

/// One tile: tokens first_token.. against vocabulary entries first_entry.. .
template <typename T>
struct TileParams {
  LinearCrossEntropyParams<T> problem;
  const float* logits;  ///< [tokens, entries]
  T* grad_logits;       ///< [tokens, entries]
  float* largest;       ///< [tokens of the tile]
  float* total;         ///< sum of exp(logit - largest)
  float* target_logit;
  const float* grad_sum;  ///< [tokens, width], float32
  int64_t first_token;
  int64_t first_entry;
  int64_t tokens;
  int64_t entries;
};

/// Every thread gets the largest value. `scratch` as block_sum's.
__device__ __forceinline__ float block_max(float value) {
  struct Tag;
  const SharedPointer<float> partial = static_shared<Tag, float, kThreads / kWarpSize>();
#pragma unroll
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kWholeWarp, value, distance));
  }
  if (threadIdx.x % kWarpSize == 0) partial[threadIdx.x / kWarpSize] = value;
  __syncthreads();
  value = partial[0];
  for (int warp = 1; warp < kThreads / kWarpSize; ++warp) value = fmaxf(value, partial[warp]);
  __syncthreads();
  return value;
}

/// Takes a tile of logits into the running maximum and sum of each token: a block a token.
template <typename T>
__global__ void __launch_bounds__(kThreads) add_to_softmax(TileParams<T> params) {
  const int64_t token = blockIdx.x;
  const GlobalPointer<const float> logits = global(params.logits) + token * params.entries;
  float largest = -INFINITY;
  for (int64_t v = threadIdx.x; v < params.entries; v += kThreads) {
    largest = fmaxf(largest, logits[v]);
  }
  largest = block_max(largest);
  const bool is_first = params.first_entry == 0;
  const float before = is_first ? -INFINITY : float(global(params.largest)[token]);
  largest = fmaxf(largest, before);
  float sum = 0.0f;
  for (int64_t v = threadIdx.x; v < params.entries; v += kThreads) sum += expf(logits[v] - largest);
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x != 0) return;
  if (!is_first) sum += global(params.total)[token] * expf(before - largest);
  global(params.largest)[token] = largest;
  global(params.total)[token] = sum;
  const int64_t target =
      global(params.problem.targets)[params.first_token + token] - params.first_entry;
  if (target >= 0 && target < params.entries) global(params.target_logit)[token] = logits[target];
}

template <typename T>
__global__ void __launch_bounds__(kThreads) write_losses(TileParams<T> params) {
  const int64_t token = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (token >= params.tokens) return;
  global(params.problem.losses)[params.first_token + token] = global(params.largest)[token] +
                                                              logf(global(params.total)[token]) -
                                                              global(params.target_logit)[token];
}

/// Logits become token_weight * (softmax - [entry is the target]), rounded to T for the products.
template <typename T>
__global__ void __launch_bounds__(kThreads) form_grad_logits(TileParams<T> params) {
  const int64_t token = blockIdx.x;
  const GlobalPointer<const float> logits = global(params.logits) + token * params.entries;
  const GlobalPointer<T> grad = global(params.grad_logits) + token * params.entries;
  const float largest = global(params.largest)[token];
  const float weight = global(params.problem.token_weight)[params.first_token + token];
  const float factor = weight / global(params.total)[token];
  const int64_t target =
      global(params.problem.targets)[params.first_token + token] - params.first_entry;
  for (int64_t v = threadIdx.x; v < params.entries; v += kThreads) {
    float value = weight == 0.0f ? 0.0f : expf(logits[v] - largest) * factor;
    if (v == target) value -= weight;
    grad[v] = from_float<T>(value);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) write_grad_hidden(TileParams<T> params) {
  const int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index >= params.tokens * params.problem.width) return;
  global(params.problem.grad_hidden)[params.first_token * params.problem.width + index] =
      from_float<T>(global(params.grad_sum)[index]);
}

unsigned blocks_for(int64_t count) {
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

/// One tile of tokens: pass 1 finds the softmax's denominators and the losses, pass 2 forms each
/// tile of logits again (a product costs less than the memory of all of them) and its gradients'
/// products.
template <typename T>
class TokenTile {
 public:
  TokenTile(const LinearCrossEntropyParams<T>& problem, CrossEntropyTiles tiles, Gemm<T>& gemm,
            StreamHandle stream, int64_t first_token)
      : problem_(problem), tiles_(tiles), gemm_(gemm), stream_(stream) {
    tokens_ = std::min(tiles.tokens, problem.tokens - first_token);
    params_.problem = problem;
    params_.first_token = first_token;
    params_.tokens = tokens_;
    const int64_t logits = tokens_ * std::min(tiles.vocabulary, problem.vocabulary);
    logits_ = problem.workspace;
    grad_logits_ = reinterpret_cast<T*>(problem.workspace + logits);
    params_.largest = problem.workspace + 2 * logits;
    params_.total = params_.largest + tokens_;
    params_.target_logit = params_.total + tokens_;
    grad_sum_ = params_.target_logit + tokens_;
    params_.logits = logits_;
    params_.grad_logits = grad_logits_;
    params_.grad_sum = grad_sum_;
  }

  void run() {
    for_entries([&] {
      form_logits();
      start(&add_to_softmax<T>, static_cast<unsigned>(tokens_));
    });
    start(&write_losses<T>, blocks_for(tokens_));
    if (problem_.grad_hidden == nullptr) return;
    for_entries([&] {
      form_logits();
      start(&form_grad_logits<T>, static_cast<unsigned>(tokens_));
      add_gradients();
    });
    start(&write_grad_hidden<T>, blocks_for(tokens_ * problem_.width));
  }

 private:
  template <typename Body>
  void for_entries(const Body& body) {
    for (int64_t first = 0; first < problem_.vocabulary; first += tiles_.vocabulary) {
      params_.first_entry = first;
      params_.entries = std::min(tiles_.vocabulary, problem_.vocabulary - first);
      body();
    }
  }
  void start(void (*kernel)(TileParams<T>), unsigned blocks) {
    launch(kernel, dim3(blocks), dim3(kThreads), 0, stream_, params_);
  }
  const T* hidden() const { return problem_.hidden + params_.first_token * problem_.width; }
  const T* weight() const { return problem_.weight + params_.first_entry * problem_.width; }

  void form_logits() {
    GemmProblem<T> product;
    product.a = hidden();
    product.b = weight();
    product.a_stride = product.b_stride = product.depth = problem_.width;
    product.b_is_transposed = true;
    product.c = logits_;
    product.rows = tokens_;
    product.c_stride = product.columns = params_.entries;
    gemm_.multiply(product, stream_);
  }

  void add_gradients() {
    GemmProblem<T> product;
    product.a = grad_logits_;
    product.a_stride = params_.entries;
    product.b_stride = product.columns = product.c_stride = problem_.width;
    product.b = weight();
    product.c = grad_sum_;
    product.adds = params_.first_entry > 0;
    product.rows = tokens_;
    product.depth = params_.entries;
    gemm_.multiply(product, stream_);
    if (problem_.grad_weight == nullptr) return;
    product.a_is_transposed = true;
    product.b = hidden();
    product.c = problem_.grad_weight + params_.first_entry * problem_.width;
    product.adds = true;
    product.rows = params_.entries;
    product.depth = tokens_;
    gemm_.multiply(product, stream_);
  }

  const LinearCrossEntropyParams<T>& problem_;
  CrossEntropyTiles tiles_;
  Gemm<T>& gemm_;
  StreamHandle stream_;
  int64_t tokens_;
  TileParams<T> params_{};
  float* logits_;
  T* grad_logits_;
  float* grad_sum_;
};

}  // namespace

template <typename T>
int64_t linear_cross_entropy_workspace_floats(const LinearCrossEntropyParams<T>& params,
                                              CrossEntropyTiles tiles) {
  const int64_t tokens = std::min(tiles.tokens, params.tokens);
  return tokens * (2 * std::min(tiles.vocabulary, params.vocabulary) + 3 + params.width);
}

template <typename T>
void launch_linear_cross_entropy(const LinearCrossEntropyParams<T>& params, CrossEntropyTiles tiles,
                                 Gemm<T>& gemm, StreamHandle stream) {
  for (int64_t first = 0; first < params.tokens; first += tiles.tokens) {
    TokenTile<T>(params, tiles, gemm, stream, first).run();
  }
}

template int64_t linear_cross_entropy_workspace_floats(const LinearCrossEntropyParams<float>&,
                                                       CrossEntropyTiles);
template int64_t linear_cross_entropy_workspace_floats(const LinearCrossEntropyParams<bfloat16>&,
                                                       CrossEntropyTiles);
template void launch_linear_cross_entropy(const LinearCrossEntropyParams<float>&, CrossEntropyTiles,
                                          Gemm<float>&, StreamHandle);
template void launch_linear_cross_entropy(const LinearCrossEntropyParams<bfloat16>&,
                                          CrossEntropyTiles, Gemm<bfloat16>&, StreamHandle);

}  // namespace retro::kernels
