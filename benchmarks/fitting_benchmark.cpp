// Steps of RETRO-fitting an imported checkpoint, shaped as configs/fit_smollm2.yaml. Driven by
// fitting_benchmark.py.
//   fitting_benchmark FILE.gguf THREADS STEPS CASE [products]
// writes the batch, the new weights before the first step and the loss to CASE (safetensors), so
// that the peer can show it computes the same; then one JSON line.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <ATen/Parallel.h>
#include <fmt/core.h>
#include <torch/types.h>

#include "retro/core/memory.h"
#include "retro/core/safetensors.h"
#include "retro/model/gguf_import.h"
#include "retro/model/retrofit.h"
#include "retro/model/weights.h"
#include "retro/ops/gemm_peak.h"
#include "retro/train/training_step.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr int64_t kBatch = 2, kLength = 256, kChunk = 64, kNeighbours = 1;

ModelConfig wanted_shape() {
  ModelConfig wanted;
  wanted.chunk_length = kChunk;
  wanted.cca_layers = {11, 17, 23, 29};
  wanted.encoder.layers = 2;
  wanted.encoder.feed_forward = 1536;
  wanted.encoder.cross_attention_layers = {0};
  wanted.share_embeddings = true;
  return wanted;
}

RetroModel fitted_model(const fs::path& gguf, const fs::path& scratch) {
  const RetroModel base = import_gguf(gguf);
  const fs::path weights = scratch.string() + ".base.safetensors";
  save_weights(base, weights);
  RetroModel model =
      retrofit(weights, retrofit_config(base->config(), wanted_shape()), {1, true, {}});
  fs::remove(weights);
  return model;
}

/// What a fit leaves at 0, so that every part takes part in the loss.
void draw_cross_outputs(RetroModel& model) {
  const torch::NoGradGuard no_gradients;
  torch::manual_seed(3);
  for (auto& item : model->named_parameters()) {
    if (item.key().ends_with(".cross_attention.output.weight")) item.value().normal_(0, 0.02);
  }
}

Batch random_batch(int64_t vocabulary) {
  torch::manual_seed(2);
  Batch batch;
  batch.tokens_BN = torch::randint(vocabulary, {kBatch, kLength}, torch::kInt64);
  batch.real_BN = torch::ones({kBatch, kLength}, torch::kBool);
  batch.targets_BN = torch::randint(vocabulary, {kBatch, kLength}, torch::kInt64);
  batch.target_is_real_BN = torch::ones({kBatch, kLength}, torch::kBool);
  batch.document_BN = torch::zeros({kBatch, kLength}, torch::kInt64);
  batch.neighbours_BLKR = torch::randint(
      vocabulary, {kBatch, kLength / kChunk, kNeighbours, 2 * kChunk}, torch::kInt64);
  batch.num_targets = kBatch * kLength;
  return batch;
}

void write_case(RetroModel& model, const Batch& batch, const fs::path& path) {
  const torch::NoGradGuard no_gradients;
  const at::Tensor loss = summed_loss(model, batch).to(torch::kFloat32).view({1});
  std::map<std::string, TensorView> views;
  const auto add = [&](const std::string& name, const char* type, const at::Tensor& tensor) {
    const auto* bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
    views[name] = {type, tensor.sizes().vec(), {bytes, static_cast<size_t>(tensor.nbytes())}};
  };
  add("tokens", "I64", batch.tokens_BN);
  add("targets", "I64", batch.targets_BN);
  add("neighbours", "I64", batch.neighbours_BLKR);
  add("loss", "F32", loss);
  for (const NamedParameter& parameter : trained_parameters(model))
    add(parameter.name, "F32", parameter.value);
  write_safetensors(path, views, {});
}

/// The best of `steps` steps after one that warms up.
void run(RetroModel& model, const Batch& batch, int64_t steps, ThreadShare share) {
  AdamW optimizer(trained_parameters(model), {});
  const auto step = [&] {
    training_step(model, optimizer, [&] { return batch; }, 1, {1e-4, 1.0, share});
  };
  step();
  double best = 1e30;
  for (int64_t i = 0; i < steps; ++i) {
    const auto start = Clock::now();
    step();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  fmt::print("{{\"tokens_per_second\": {:.1f}, \"trained\": {}, \"weights\": {}}}\n",
             static_cast<double>(kBatch * kLength) / best, model->num_trained_parameters(),
             model->num_parameters());
}

}  // namespace
}  // namespace retro

int main(int argc, char** argv) {
  using namespace retro;
  if (argc != 5 && argc != 6) {
    fmt::print(stderr, "usage: {} FILE.gguf THREADS STEPS CASE [products]\n", argv[0]);
    return 2;
  }
  at::set_num_threads(std::atoi(argv[2]));
  keep_freed_memory();
  RetroModel model = fitted_model(argv[1], argv[4]);
  draw_cross_outputs(model);
  model->train();
  const Batch batch = random_batch(model->config().vocabulary);
  write_case(model, batch, argv[4]);
  run(model, batch, std::atoll(argv[3]), argc == 6 ? ThreadShare::kProducts : ThreadShare::kAuto);
  return 0;
}
