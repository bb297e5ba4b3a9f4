#include "bert_encoder.h"

#include <algorithm>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include "retro/core/error.h"

#include "bert_kernels.h"

namespace retro {
namespace {

/// Rows that one thread normalises at a time.
constexpr int64_t kNormRows = 64;

template <class S>
S* data_of(const at::Tensor& tensor) {
  return static_cast<S*>(tensor.mutable_data_ptr());
}

template <class S>
struct LayerRun {
  const PackedPieces& pieces;
  const BertConfig& config;
  BertKernels<S> kernels;
  at::Tensor residual_TD;  ///< float32
  at::Tensor rounded_TD;   ///< the same in bfloat16; undefined in float32

  const at::Tensor& input() const { return rounded_TD.defined() ? rounded_TD : residual_TD; }

  void normalise(const at::Tensor& update_TD, const LayerNormWeights& norm) const {
    const int64_t width = config.width;
    auto* const rounded = rounded_TD.defined() ? data_of<Bfloat16Bits>(rounded_TD) : nullptr;
    at::parallel_for(0, pieces.num_pieces(), kNormRows, [&](int64_t begin, int64_t end) {
      ResidualNorm<S> task;
      task.residual = data_of<float>(residual_TD) + begin * width;
      task.update = update_TD.defined() ? data_of<S>(update_TD) + begin * width : nullptr;
      task.rounded = rounded != nullptr ? rounded + begin * width : nullptr;
      task.gain = data_of<float>(norm.gain_D);
      task.shift = data_of<float>(norm.shift_D);
      task.rows = end - begin;
      task.width = width;
      task.epsilon = static_cast<float>(config.layer_norm_epsilon);
      kernels.residual_norm(task);
    });
  }

  /// query_key_value [T, 3 * width] -> [T, width].
  at::Tensor attend(const at::Tensor& query_key_value) const {
    at::Tensor context_TD =
        at::empty({pieces.num_pieces(), config.width}, query_key_value.options());
    at::parallel_for(0, pieces.num_texts() * config.heads, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> scratch;
      for (int64_t task = begin; task < end; ++task) {
        const auto text = static_cast<size_t>(task / config.heads);
        const int64_t head = task % config.heads;
        attend_head(query_key_value, context_TD, text, head, scratch);
      }
    });
    return context_TD;
  }

  void attend_head(const at::Tensor& query_key_value, const at::Tensor& context_TD, size_t text,
                   int64_t head, std::vector<float>& scratch) const {
    const int64_t first = pieces.first[text];
    AttentionHead<S> task;
    task.query =
        data_of<S>(query_key_value) + first * 3 * config.width + head * config.head_width();
    task.key = task.query + config.width;
    task.value = task.key + config.width;
    task.context = data_of<S>(context_TD) + first * config.width + head * config.head_width();
    task.input_stride = 3 * config.width;
    task.context_stride = config.width;
    task.length = pieces.first[text + 1] - first;
    task.head_width = config.head_width();
    const auto needed = static_cast<size_t>(attention_scratch_floats(task.length, task.head_width));
    if (scratch.size() < needed) scratch.resize(needed);
    kernels.attend(task, scratch.data());
  }

  void layer(const BertLayerWeights& weights) const {
    const at::Tensor context_TD = attend(weights.query_key_value.forward(input()));
    normalise(weights.attention_output.forward(context_TD), weights.attention_norm);
    const at::Tensor hidden = weights.up.forward(input(), Activation::kGelu);
    normalise(weights.down.forward(hidden), weights.output_norm);
  }
};

}  // namespace

BertEncoder::BertEncoder(const BertConfig& config, BertWeights weights, Precision precision)
    : config_(config), weights_(std::move(weights)), precision_(precision) {}

at::Tensor BertEncoder::embed(const PackedPieces& pieces) const {
  const int64_t width = config_.width;
  at::Tensor sum_TD = at::empty({pieces.num_pieces(), width}, at::kFloat);
  const float* const words = weights_.word_VD.const_data_ptr<float>();
  const float* const positions = weights_.position_PD.const_data_ptr<float>();
  float* to = sum_TD.mutable_data_ptr<float>();
  for (size_t text = 0; text + 1 < pieces.first.size(); ++text) {
    const int64_t length = pieces.first[text + 1] - pieces.first[text];
    RETRO_CHECK(length >= 1 && length <= config_.positions,
                "a text of {} pieces does not fit {} positions", length, config_.positions);
    for (int64_t position = 0; position < length; ++position, to += width) {
      const int32_t id = pieces.ids_T[static_cast<size_t>(pieces.first[text] + position)];
      RETRO_CHECK(id >= 0 && id < config_.vocabulary,
                  "WordPiece id {} is outside the model's vocabulary of {}: vocab.txt and "
                  "config.json do not belong together",
                  id, config_.vocabulary);
      const float* const word = words + id * width;
      const float* const place = positions + position * width;
      for (int64_t d = 0; d < width; ++d) to[d] = word[d] + place[d];
    }
  }
  return sum_TD;
}

template <class S>
at::Tensor BertEncoder::forward_as(const PackedPieces& pieces) const {
  LayerRun<S> run{pieces, config_, select_bert_kernels<S>(), embed(pieces), {}};
  if (precision_ == Precision::kBfloat16) {
    run.rounded_TD = at::empty(run.residual_TD.sizes(), at::kBFloat16);
  }
  run.normalise({}, weights_.embedding_norm);
  for (const BertLayerWeights& layer : weights_.layers) run.layer(layer);
  return run.residual_TD;
}

at::Tensor BertEncoder::forward(const PackedPieces& pieces) const {
  return precision_ == Precision::kBfloat16 ? forward_as<Bfloat16Bits>(pieces)
                                            : forward_as<float>(pieces);
}

}  // namespace retro
