#include "row_attention.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/zeros_like.h>

namespace retro {

namespace {

/// Multiply-adds under which a second thread costs more than it brings.
constexpr int64_t kParallelWork = int64_t{1} << 20;
/// Independent sums of a dot product: four vectors of eight hide the latency of an addition.
constexpr int64_t kLanes = 32;
constexpr float kNever = -std::numeric_limits<float>::infinity();

float dot(const float* __restrict a, const float* __restrict b, int64_t width) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  float sum = 0;
  for (; i < width; ++i) sum += a[i] * b[i];
#pragma omp simd reduction(+ : sum)
  for (int64_t lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
  return sum;
}

void add_scaled(float* __restrict out, const float* __restrict value, float scale, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) out[i] += scale * value[i];
}

/// Rows of a [T, H, A] tensor.
struct Rows {
  explicit Rows(const at::Tensor& tensor)
      : data(tensor.const_data_ptr<float>()),
        stride(tensor.stride(0)),
        head_stride(tensor.stride(1)) {}
  const float* at(int64_t row, int64_t head) const {
    return data + row * stride + head * head_stride;
  }
  const float* data;
  int64_t stride;
  int64_t head_stride;
};

/// What a thread works on: heads [begin, end) of one query row. Keys are the outer loop, so that
/// memory is read in order whatever the number of heads.
struct HeadBlock {
  int64_t row = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

class RowAttention {
 public:
  RowAttention(const RowAttentionOperands& operands, const RowAttentionGeometry& geometry)
      : operands_(operands),
        geometry_(geometry),
        query_(operands.query_NHA),
        key_(operands.key_TGA),
        value_(operands.value_TGA),
        num_keys_(operands.key_TGA.size(0)),
        width_(operands.key_TGA.size(2)),
        heads_per_key_(operands.query_NHA.size(1) / operands.key_TGA.size(1)),
        period_(geometry.key_period > 0 ? std::min(geometry.key_period, num_keys_) : num_keys_),
        is_real_(operands.key_is_real_T.const_data_ptr<bool>()),
        scale_(1.0F / std::sqrt(static_cast<float>(width_))) {}

  /// out_HA: the row's heads, zero at the beginning.
  void attend(const HeadBlock& block, float* out_HA) const {
    const int64_t visible = geometry_.is_causal
                                ? std::min(num_keys_, block.row + geometry_.causal_offset + 1)
                                : num_keys_;
    const int64_t heads = block.end - block.begin;
    std::vector<float> weights(static_cast<size_t>(heads * visible), kNever);
    score_keys(block, visible, weights);
    std::vector<float> sums(static_cast<size_t>(heads), 0.0F);
    for (int64_t h = 0; h < heads; ++h) {
      sums[static_cast<size_t>(h)] = exponentiate(weights.data() + h * visible, visible);
    }
    for (int64_t j = 0; j < visible; ++j) {
      if (!is_real_[j]) continue;
      for (int64_t h = 0; h < heads; ++h) {
        add_scaled(out_HA + (block.begin + h) * width_,
                   value_.at(j, (block.begin + h) / heads_per_key_),
                   weights[static_cast<size_t>(h * visible + j)], width_);
      }
    }
    for (int64_t h = 0; h < heads; ++h) {
      const float sum = sums[static_cast<size_t>(h)];
      float* out = out_HA + (block.begin + h) * width_;
      for (int64_t a = 0; a < width_ && sum > 0; ++a) out[a] /= sum;
    }
  }

 private:
  /// q + bias of the block's heads; q alone without one.
  std::vector<float> biased_query(const HeadBlock& block, const at::Tensor& bias_HA) const {
    if (!bias_HA.defined()) {
      std::vector<float> query;
      for (int64_t h = block.begin; h < block.end; ++h)
        query.insert(query.end(), query_.at(block.row, h), query_.at(block.row, h) + width_);
      return query;
    }
    const at::Tensor bias = bias_HA.contiguous();
    const float* values = bias.const_data_ptr<float>() + block.begin * width_;
    std::vector<float> sum;
    for (int64_t h = block.begin; h < block.end; ++h) {
      for (int64_t a = 0; a < width_; ++a) sum.push_back(query_.at(block.row, h)[a] + *values++);
    }
    return sum;
  }

  /// (q + b_v) . W_R s(delta) for key positions 0..count-1; every neighbour of chunked
  /// cross-attention shares them.
  std::vector<float> score_positions(const HeadBlock& block, int64_t count) const {
    const int64_t heads = block.end - block.begin;
    if (!operands_.relative_XHA.defined())
      return std::vector<float>(static_cast<size_t>(count * heads), 0.0F);
    const std::vector<float> query = biased_query(block, operands_.position_bias_HA);
    const Rows relative(operands_.relative_XHA);
    const int64_t first = block.row + geometry_.distance_offset - geometry_.first_distance;
    assert(first < operands_.relative_XHA.size(0) && first - (count - 1) >= 0);
    std::vector<float> scores;
    scores.reserve(static_cast<size_t>(count * heads));
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t h = 0; h < heads; ++h) {
        scores.push_back(
            dot(query.data() + h * width_, relative.at(first - j, block.begin + h), width_));
      }
    }
    return scores;
  }

  /// Scaled scores [heads, visible] of real keys.
  void score_keys(const HeadBlock& block, int64_t visible, std::vector<float>& scores) const {
    const int64_t heads = block.end - block.begin;
    const std::vector<float> query = biased_query(block, operands_.content_bias_HA);
    const std::vector<float> positions = score_positions(block, std::min(period_, visible));
    int64_t place = 0;  // j mod period
    for (int64_t j = 0; j < visible; ++j) {
      for (int64_t h = 0; h < heads && is_real_[j]; ++h) {
        const int64_t key_head = (block.begin + h) / heads_per_key_;
        const float content = dot(query.data() + h * width_, key_.at(j, key_head), width_);
        scores[static_cast<size_t>(h * visible + j)] =
            scale_ * (content + positions[static_cast<size_t>(place * heads + h)]);
      }
      place = place + 1 == period_ ? 0 : place + 1;
    }
  }

  /// exp(score - largest) in place; returns the sum, 0 without a real key.
  static float exponentiate(float* scores, int64_t count) {
    const float largest = *std::max_element(scores, scores + count);
    if (largest == kNever) return 0.0F;
    float sum = 0;
    for (int64_t j = 0; j < count; ++j) {
      scores[j] = std::exp(scores[j] - largest);
      sum += scores[j];
    }
    return sum;
  }

  const RowAttentionOperands& operands_;
  const RowAttentionGeometry& geometry_;
  Rows query_;
  Rows key_;
  Rows value_;
  int64_t num_keys_;
  int64_t width_;
  int64_t heads_per_key_;
  int64_t period_;
  const bool* is_real_;
  float scale_;
};

/// Threads share a row's heads where there is enough to do.
int64_t head_blocks(const RowAttentionOperands& operands) {
  const int64_t heads = operands.query_NHA.size(1);
  const int64_t work = 3 * operands.key_TGA.size(0) * operands.query_NHA.numel();
  return std::clamp<int64_t>(work / kParallelWork, 1,
                             std::min<int64_t>(heads, at::get_num_threads()));
}

}  // namespace

at::Tensor row_attention(const RowAttentionOperands& operands,
                         const RowAttentionGeometry& geometry) {
  const at::Tensor out_NHA = at::zeros_like(operands.query_NHA, at::MemoryFormat::Contiguous);
  if (operands.key_TGA.size(0) == 0) return out_NHA;
  const RowAttention attention(operands, geometry);
  const int64_t heads = out_NHA.size(1);
  const int64_t blocks = head_blocks(operands);
  float* out = out_NHA.mutable_data_ptr<float>();
  at::parallel_for(0, out_NHA.size(0) * blocks, blocks > 1 ? 1 : out_NHA.size(0),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       const int64_t row = i / blocks;
                       const int64_t block = i % blocks;
                       attention.attend({row, heads * block / blocks, heads * (block + 1) / blocks},
                                        out + row * out_NHA.stride(0));
                     }
                   });
  return out_NHA;
}

}  // namespace retro
