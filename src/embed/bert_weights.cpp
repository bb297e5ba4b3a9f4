#include "bert_weights.h"

#include <algorithm>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "retro/core/error.h"
#include "retro/core/safetensors.h"

namespace retro {
namespace {

class WeightReader {
 public:
  WeightReader(const std::filesystem::path& path, const BertConfig& config, Precision precision)
      : reader_(path), config_(config), precision_(precision) {
    if (!reader_.contains(kFirstTensor) && reader_.contains(fmt::format("bert.{}", kFirstTensor))) {
      prefix_ = "bert.";
    }
  }

  BertWeights read() const {
    BertWeights weights;
    weights.word_VD = matrix("embeddings.word_embeddings.weight", config_.vocabulary);
    const at::Tensor type_D =
        matrix("embeddings.token_type_embeddings.weight", config_.token_types).select(0, 0);
    weights.position_PD =
        matrix("embeddings.position_embeddings.weight", config_.positions) + type_D;
    weights.embedding_norm = norm("embeddings.LayerNorm");
    for (int64_t layer = 0; layer < config_.layers; ++layer)
      weights.layers.push_back(read_layer(layer));
    return weights;
  }

 private:
  static constexpr const char* kFirstTensor = "embeddings.word_embeddings.weight";

  BertLayerWeights read_layer(int64_t layer) const {
    const std::string name = fmt::format("encoder.layer.{}.", layer);
    const int64_t width = config_.width;
    BertLayerWeights weights;
    weights.query_key_value = read_query_key_value(name + "attention.self.");
    weights.attention_output = linear(name + "attention.output.dense", width, width);
    weights.attention_norm = norm(name + "attention.output.LayerNorm");
    weights.up = linear(name + "intermediate.dense", config_.feed_forward, width);
    weights.down = linear(name + "output.dense", width, config_.feed_forward);
    weights.output_norm = norm(name + "output.LayerNorm");
    return weights;
  }

  FrozenLinear read_query_key_value(const std::string& name) const {
    std::vector<at::Tensor> rows;
    std::vector<at::Tensor> biases;
    for (const char* part : {"query", "key", "value"}) {
      rows.push_back(tensor(name + part + ".weight", {config_.width, config_.width}));
      biases.push_back(tensor(name + part + ".bias", {config_.width}));
    }
    return {at::cat(rows), at::cat(biases), precision_};
  }

  FrozenLinear linear(const std::string& name, int64_t outputs, int64_t inputs) const {
    return {tensor(name + ".weight", {outputs, inputs}), tensor(name + ".bias", {outputs}),
            precision_};
  }

  LayerNormWeights norm(const std::string& name) const {
    const bool is_old = reader_.contains(prefix_ + name + ".gamma");
    return {tensor(name + (is_old ? ".gamma" : ".weight"), {config_.width}),
            tensor(name + (is_old ? ".beta" : ".bias"), {config_.width})};
  }

  at::Tensor matrix(const std::string& name, int64_t rows) const {
    return tensor(name, {rows, config_.width});
  }

  at::Tensor tensor(const std::string& name, const std::vector<int64_t>& shape) const {
    const TensorView& view = reader_.tensor(prefix_ + name);
    RETRO_CHECK(view.shape == shape, "{}: `{}` has shape [{}], config.json asks for [{}]",
                reader_.path().string(), prefix_ + name, fmt::join(view.shape, ", "),
                fmt::join(shape, ", "));
    const std::vector<float> values = to_float32(view);
    at::Tensor result = at::empty(shape, at::kFloat);
    std::ranges::copy(values, result.mutable_data_ptr<float>());
    return result;
  }

  SafetensorsReader reader_;
  const BertConfig& config_;
  Precision precision_;
  std::string prefix_;
};

}  // namespace

BertWeights load_bert_weights(const std::filesystem::path& path, const BertConfig& config,
                              Precision precision) {
  return WeightReader(path, config, precision).read();
}

}  // namespace retro
