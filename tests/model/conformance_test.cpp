// Logits, loss and every gradient of independent implementations of METHOD section 3.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "retro/core/json.h"
#include "retro/core/safetensors.h"
#include "retro/ops/linear_cross_entropy.h"

#include "model_test_support.h"

namespace retro::testing {
namespace {

namespace fs = std::filesystem;

/// The shape as the data's writers spell it.
ModelConfig config_of(const nlohmann::json& json) {
  const std::string where = "conformance config";
  ModelConfig config;
  config.vocabulary = json.at("vocab");
  config.width = json.at("d");
  config.layers = json.at("layers");
  config.heads = json.at("heads");
  config.head_width = json.at("head_width");
  config.feed_forward = json.at("ff");
  config.chunk_length = json.at("m");
  config.cca_layers = json.at("P").get<std::vector<int64_t>>();
  config.encoder.width = json.at("d_enc");
  config.encoder.layers = json.at("enc_layers");
  config.encoder.heads = json.at("enc_heads");
  config.encoder.head_width = json.at("enc_head_width");
  config.encoder.feed_forward = json.at("enc_ff");
  config.encoder.cross_attention_layers = json.at("P_enc").get<std::vector<int64_t>>();
  config.encoder.query_conditioning = json_get_or(json, "query_conditioning", true, where);
  config.tie_output = json.at("tied");
  config.share_embeddings = json.at("share_embeddings");
  config.cca_positions = json_get_or(json, "cca_positions", true, where);
  config.retrieved_part = json_get_or<std::string>(json, "retrieved_part", "both", where);
  config.attend_across_documents = json_get_or(json, "attend_across_documents", true, where);
  return config;
}

torch::Tensor read_tensor(const SafetensorsReader& reader, const std::string& name) {
  const TensorView& view = reader.tensor(name);
  if (view.dtype == "I64") {
    const auto values = to_int64(view);
    return torch::tensor(values, torch::kLong).view(view.shape);
  }
  const auto values = to_float64(view);
  return torch::tensor(values, torch::kDouble).view(view.shape);
}

struct Case {
  Case(const fs::path& model_path, const fs::path& case_path)
      : weights(model_path), expected(case_path) {
    config = config_of(parse_json(weights.metadata().at("config"), model_path.string()));
    input.tokens_BN = read_tensor(expected, "ids");
    input.real_BN = read_tensor(expected, "real").to(torch::kBool);
    input.neighbours_BLKR = read_tensor(expected, "neighbours");
    if (expected.contains("document")) input.document_BN = read_tensor(expected, "document");
  }

  RetroModel model(torch::ScalarType type) const {
    RetroModel result(config, 0);
    const torch::NoGradGuard no_gradients;
    EXPECT_EQ(result->named_parameters().size(), weights.tensors().size());
    for (const auto& item : result->named_parameters())
      item.value().copy_(read_tensor(weights, item.key()));
    result->to(type);
    return result;
  }

  SafetensorsReader weights, expected;
  ModelConfig config;
  ModelInput input;
};

/// Mean over the scored targets, by the op that training uses.
torch::Tensor mean_loss(RetroModel& model, const Case& data, const ModelInput& input) {
  const torch::Tensor hidden = model->hidden(input).flatten(0, 1);
  const torch::Tensor mask = read_tensor(data.expected, "target_mask").flatten();
  const torch::Tensor sum = linear_cross_entropy(
      hidden, model->output_weight(), read_tensor(data.expected, "targets").flatten(),
      mask.to(hidden.scalar_type()), Precision::kFloat32);
  return sum / mask.sum();
}

/// float64: sums of another order. float32: a value passes through at most this many sums of at
/// most 64 terms (12 a layer, 6 layers), each with a relative error of sqrt(64) * 2^-24, which add
/// up like a random walk; the backward pass doubles the way.
double bound(torch::ScalarType type, bool is_gradient) {
  if (type == torch::kDouble) return 1e-12;
  return (is_gradient ? 2 : 1) * std::sqrt(12.0 * 6.0) * 8.0 * 0x1p-24;
}

/// What the rounding errors of a quantity are measured by: its largest element. The gradients of
/// the attention biases and of the relative table are sums of score gradients times queries, and
/// the score gradients of a row cancel (they sum to 0), so their terms' size counts, which the
/// query projection's gradient shows: the same score gradients times inputs of size one.
double scale_of(const Case& data, const std::string& name) {
  const auto largest = [&](const std::string& tensor) {
    return read_tensor(data.expected, tensor).abs().max().item<double>();
  };
  if (!name.ends_with("_bias") && !name.ends_with(".relative.weight")) return largest(name);
  const std::string attention = name.substr(0, name.rfind("attention.") + 9);
  return std::max(largest(name), largest(attention + ".query.weight"));
}

void expect_close(const torch::Tensor& actual, const Case& data, const std::string& name,
                  double tolerance) {
  const torch::Tensor expected = read_tensor(data.expected, name);
  ASSERT_EQ(actual.sizes(), expected.sizes()) << name;
  EXPECT_LE(largest_difference(actual.to(torch::kDouble), expected),
            tolerance * scale_of(data, name))
      << name;
}

void check_case(const Case& data, torch::ScalarType type) {
  RetroModel model = data.model(type);
  const ModelInput off = without_retrieval(data.input);
  expect_close(model->logits(off), data, "logits_off", bound(type, false));
  expect_close(model->logits(data.input), data, "logits_on", bound(type, false));
  expect_close(mean_loss(model, data, off).view(1), data, "loss_off", bound(type, false));
  const torch::Tensor loss = mean_loss(model, data, data.input);
  expect_close(loss.view(1), data, "loss_on", bound(type, false));
  loss.backward();
  for (const auto& item : model->named_parameters()) {
    const torch::Tensor gradient = item.value().grad();
    expect_close(gradient.defined() ? gradient : torch::zeros_like(item.value()), data,
                 "grad." + item.key(), bound(type, true));
  }
}

struct Files {
  fs::path model, data;
};

std::vector<Files> all_cases() {
  const fs::path own = fs::path(RETRO_TEST_DATA) / "conformance";
  const fs::path shared = RETRO_SHARED_CONFORMANCE;
  std::vector<Files> files;
  for (const fs::path& directory : {own, shared}) {
    if (!fs::exists(directory)) continue;
    files.push_back({directory / "model.safetensors", directory / "case.safetensors"});
    files.push_back({directory / "model2.safetensors", directory / "case2.safetensors"});
  }
  for (const std::string name : {"ablations", "documents", "every_layer", "single_chunk"}) {
    files.push_back({own / (name + ".model.safetensors"), own / (name + ".case.safetensors")});
  }
  return files;
}

class Conformance : public ::testing::TestWithParam<Files> {};

TEST_P(Conformance, Float64) { check_case({GetParam().model, GetParam().data}, torch::kDouble); }
TEST_P(Conformance, Float32) { check_case({GetParam().model, GetParam().data}, torch::kFloat); }

INSTANTIATE_TEST_SUITE_P(Cases, Conformance, ::testing::ValuesIn(all_cases()),
                         [](const auto& instance) {
                           std::string name = std::to_string(instance.index) + "_" +
                                              instance.param.data.stem().string();
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

/// The encoder by itself, its context all zeros (the first two cases hold it).
TEST(ConformanceEncoder, ZeroContext) {
  const fs::path own = fs::path(RETRO_TEST_DATA) / "conformance";
  for (const std::string number : {"", "2"}) {
    const Case data(own / ("model" + number + ".safetensors"),
                    own / ("case" + number + ".safetensors"));
    RetroModel model = data.model(torch::kDouble);
    const torch::Tensor ids = data.input.neighbours_BLKR;
    const ChunkContext context{
        torch::zeros({ids.size(0) * ids.size(1), data.config.chunk_length, data.config.width},
                     torch::kDouble),
        {}};
    const torch::Tensor encoded = model->encoder->forward(
        ids.flatten(0, 1), context, model->decoder->embedding_weight(), Precision::kFloat32);
    const torch::Tensor is_real = ids.ge(0).unsqueeze(-1);
    const torch::Tensor expected = read_tensor(data.expected, "encoder_out_for_zero_H");
    EXPECT_LE(largest_difference(encoded.view_as(expected) * is_real, expected * is_real), 1e-12);
  }
}

}  // namespace
}  // namespace retro::testing
