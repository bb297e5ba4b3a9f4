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

float dot(const float* __restrict a, const float* __restrict b, int64_t width) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < width; ++i) sum += a[i] * b[i];
  return sum;
}

void add_scaled(float* __restrict out, const float* __restrict value, float scale, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) out[i] += scale * value[i];
}

class RowAttention {
 public:
  RowAttention(const RowAttentionOperands& operands, const RowAttentionGeometry& geometry,
               const at::Tensor& out_NHA)
      : operands_(operands),
        geometry_(geometry),
        out_NHA_(out_NHA),
        num_keys_(operands.key_THA.size(0)),
        width_(operands.key_THA.size(2)),
        period_(geometry.key_period > 0 ? std::min(geometry.key_period, num_keys_) : num_keys_),
        is_real_(operands.key_is_real_T.const_data_ptr<bool>()),
        scale_(1.0F / std::sqrt(static_cast<float>(width_))) {}

  void attend(int64_t row, int64_t head, std::vector<float>& scores,
              std::vector<float>& positions) const {
    const int64_t visible =
        geometry_.is_causal ? std::min(num_keys_, row + geometry_.causal_offset + 1) : num_keys_;
    if (operands_.relative_XHA.defined())
      score_positions(row, head, std::min(period_, visible), positions);
    const float largest = score_keys(row, head, visible, positions, scores);
    if (largest == -std::numeric_limits<float>::infinity()) return;
    float sum = 0;
    float* out = at_row(out_NHA_, row, head);
    const int64_t stride = operands_.value_THA.stride(0);
    const float* value =
        operands_.value_THA.const_data_ptr<float>() + head * operands_.value_THA.stride(1);
    for (int64_t j = 0; j < visible; ++j) {
      if (!is_real_[j]) continue;
      const float weight = std::exp(scores[static_cast<size_t>(j)] - largest);
      sum += weight;
      add_scaled(out, value + j * stride, weight, width_);
    }
    for (int64_t a = 0; a < width_; ++a) out[a] /= sum;
  }

 private:
  static float* at_row(const at::Tensor& tensor, int64_t row, int64_t head) {
    return tensor.mutable_data_ptr<float>() + row * tensor.stride(0) + head * tensor.stride(1);
  }

  /// q + bias of one head.
  std::vector<float> biased_query(int64_t row, int64_t head, const at::Tensor& bias_HA) const {
    const float* query = operands_.query_NHA.const_data_ptr<float>() +
                         row * operands_.query_NHA.stride(0) + head * operands_.query_NHA.stride(1);
    const float* bias = bias_HA.const_data_ptr<float>() + head * bias_HA.stride(0);
    std::vector<float> sum(static_cast<size_t>(width_));
    for (int64_t a = 0; a < width_; ++a) sum[static_cast<size_t>(a)] = query[a] + bias[a];
    return sum;
  }

  /// (q + b_v) . W_R s(delta) for key positions 0..count-1; every neighbour of chunked
  /// cross-attention shares them.
  void score_positions(int64_t row, int64_t head, int64_t count,
                       std::vector<float>& positions) const {
    const std::vector<float> query = biased_query(row, head, operands_.position_bias_HA);
    const at::Tensor& relative_XHA = operands_.relative_XHA;
    const float* relative = relative_XHA.const_data_ptr<float>() + head * relative_XHA.stride(1);
    const int64_t first = row + geometry_.distance_offset - geometry_.first_distance;
    assert(first < relative_XHA.size(0) && first - (count - 1) >= 0);
    positions.resize(static_cast<size_t>(count));
    for (int64_t j = 0; j < count; ++j) {
      positions[static_cast<size_t>(j)] =
          dot(query.data(), relative + (first - j) * relative_XHA.stride(0), width_);
    }
  }

  /// Scaled scores of real keys; returns the largest.
  float score_keys(int64_t row, int64_t head, int64_t visible, const std::vector<float>& positions,
                   std::vector<float>& scores) const {
    const std::vector<float> query = biased_query(row, head, operands_.content_bias_HA);
    const bool has_positions = operands_.relative_XHA.defined();
    const int64_t stride = operands_.key_THA.stride(0);
    const float* key =
        operands_.key_THA.const_data_ptr<float>() + head * operands_.key_THA.stride(1);
    scores.resize(static_cast<size_t>(visible));
    float largest = -std::numeric_limits<float>::infinity();
    int64_t place = 0;  // j mod period
    for (int64_t j = 0; j < visible; ++j) {
      if (is_real_[j]) {
        float score = dot(query.data(), key + j * stride, width_);
        if (has_positions) score += positions[static_cast<size_t>(place)];
        scores[static_cast<size_t>(j)] = score * scale_;
        largest = std::max(largest, scores[static_cast<size_t>(j)]);
      }
      place = place + 1 == period_ ? 0 : place + 1;
    }
    return largest;
  }

  const RowAttentionOperands& operands_;
  const RowAttentionGeometry& geometry_;
  const at::Tensor& out_NHA_;
  int64_t num_keys_;
  int64_t width_;
  int64_t period_;
  const bool* is_real_;
  float scale_;
};

}  // namespace

at::Tensor row_attention(const RowAttentionOperands& operands,
                         const RowAttentionGeometry& geometry) {
  const at::Tensor out_NHA = at::zeros_like(operands.query_NHA, at::MemoryFormat::Contiguous);
  const RowAttention attention(operands, geometry, out_NHA);
  const int64_t heads = out_NHA.size(1);
  const int64_t work = std::max<int64_t>(3 * operands.key_THA.size(0) * out_NHA.size(2), 1);
  at::parallel_for(0, out_NHA.size(0) * heads, std::max<int64_t>(kParallelWork / work, 1),
                   [&](int64_t begin, int64_t end) {
                     std::vector<float> scores;
                     std::vector<float> positions;
                     for (int64_t i = begin; i < end; ++i)
                       attention.attend(i / heads, i % heads, scores, positions);
                   });
  return out_NHA;
}

}  // namespace retro
