// A whole training step, or sampling, of a run's configuration on a device; one JSON line.
//   device_step_benchmark train|sample CONFIG COUNT [KEY=VALUE...]
//
// COUNT: steps, or tokens. The configuration's device, model, batch, precision and recomputation
// are used; text and database are not read. A step's yardstick is this device's own matrix peak of
// the same type (ops/gemm_peak.h), its FLOPs are the model's without recomputation.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <fmt/core.h>
#include <torch/torch.h>

#include "retro/core/error.h"
#include "retro/generate/cached_decoder.h"
#include "retro/ops/device.h"
#include "retro/ops/gemm_peak.h"
#include "retro/run/model_setup.h"
#include "retro/run/run_config.h"
#include "retro/train/training_step.h"

#include "device_memory.h"

namespace retro {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kVocabulary = 32000;  // where the configuration leaves it to the tokenizer

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

RetroModel make_shape(const RunConfig& config) {
  ModelConfig shape = config.model;
  if (shape.vocabulary == 0) shape.vocabulary = kVocabulary;
  RetroModel model(shape.resolved(), 1);
  model->to(resolve_device(config.device));
  model->set_precision(resolve_precision(config.train.precision, model->device()));
  model->set_recompute(config.train.recompute == "block" ? Recompute::kBlock : Recompute::kNone);
  return model;
}

Batch random_batch(const RunConfig& config, const ModelConfig& shape) {
  const int64_t B = config.train.batch_size, N = config.train.sequence_length;
  const int64_t m = shape.chunk_length, k = evaluation_k(config);
  Batch batch;
  batch.tokens_BN = torch::randint(shape.vocabulary, {B, N}, torch::kInt64);
  batch.real_BN = torch::ones({B, N}, torch::kBool);
  batch.targets_BN = torch::randint(shape.vocabulary, {B, N}, torch::kInt64);
  batch.target_is_real_BN = torch::ones({B, N}, torch::kBool);
  batch.document_BN = torch::zeros({B, N}, torch::kInt64);
  if (!shape.cca_layers.empty() && k > 0)
    batch.neighbours_BLKR = torch::randint(shape.vocabulary, {B, N / m, k, 2 * m}, torch::kInt64);
  batch.num_targets = B * N;
  return batch;
}

void train(const RunConfig& config, int64_t steps) {
  RetroModel model = make_shape(config);
  const at::Device device = model->device();
  model->train();
  AdamW optimizer(trained_parameters(model), {});
  const Batch host = random_batch(config, model->config());
  const Batch batch = device.is_cuda() ? pinned(host) : host;
  // It waits for the device: the gradient norm is needed on the host.
  const auto step = [&] {
    return training_step(model, optimizer, [&] { return batch; }, 1, {1e-4, 1.0});
  };
  const double flops = 3 * step().forward_flops;
  forget_peak_memory(device);
  double best = 1e30;
  for (int64_t i = 0; i < steps; ++i) {
    const auto start = Clock::now();
    step();
    best = std::min(best, seconds_since(start));
  }
  const int64_t peak_bytes = peak_memory(device);
  const double peak = measure_gemm_peak(model->precision(), at::get_num_threads(), device);
  fmt::print(
      "{{\"benchmark\": \"training_step\", \"device\": \"{}\", \"precision\": \"{}\", "
      "\"parameters\": {}, \"tokens\": {}, \"milliseconds\": {:.2f}, \"tokens_per_second\": "
      "{:.1f}, "
      "\"matrix_peak_tflops\": {:.2f}, \"share_of_peak\": {:.3f}, \"peak_megabytes\": {:.1f}}}\n",
      config.device, precision_name(model->precision()), model->num_parameters(), batch.num_targets,
      1e3 * best, static_cast<double>(batch.num_targets) / best, 1e-12 * peak, flops / best / peak,
      static_cast<double>(peak_bytes) / (1 << 20));
}

/// Neighbours without a search: what is measured is the model.
class FixedNeighbours final : public NeighbourFetcher {
 public:
  explicit FixedNeighbours(int64_t chunk_length) {
    for (int32_t i = 0; i < 2 * chunk_length; ++i) neighbour_.value_R.push_back(i);
    neighbour_.chunk_id = 0;
  }
  std::vector<std::vector<FetchedNeighbour>> fetch(const std::vector<std::vector<int32_t>>& chunks,
                                                   int64_t k) override {
    return {chunks.size(), std::vector<FetchedNeighbour>(static_cast<size_t>(k), neighbour_)};
  }

 private:
  FetchedNeighbour neighbour_;
};

/// One sequence, from half of its window on.
void sample(const RunConfig& config, int64_t tokens) {
  RetroModel model = make_shape(config);
  model->eval();
  const torch::InferenceMode no_gradients;
  FixedNeighbours neighbours(model->config().chunk_length);
  CachedDecoder decoder(model, &neighbours, config.sample.neighbours, config.train.sequence_length);
  KeyValueCache cache = decoder.new_cache();
  decoder.begin(cache, 2);
  at::Tensor logits = decoder.append_text(
      cache, std::vector<int32_t>(static_cast<size_t>(config.train.sequence_length / 2), 17));
  const auto start = Clock::now();
  for (int64_t i = 0; i < tokens; ++i) {
    const auto next = static_cast<int32_t>(logits.argmax().item<int64_t>());
    logits = decoder.append_text(cache, std::array{next});
  }
  fmt::print(
      "{{\"benchmark\": \"sampling\", \"device\": \"{}\", \"parameters\": {}, "
      "\"tokens_per_second\": {:.1f}}}\n",
      config.device, model->num_parameters(), static_cast<double>(tokens) / seconds_since(start));
}

int run(int argc, char** argv) {
  const std::string subject = argv[1];
  const RunConfig config = load_run_config(argv[2], {argv + 4, argv + argc});
  const int64_t count = std::atoll(argv[3]);
  at::set_num_threads(run_threads(config));
  RETRO_CHECK(subject == "train" || subject == "sample", "expected train or sample, got {}",
              subject);
  if (subject == "train") {
    train(config, count);
  } else {
    sample(config, count);
  }
  return 0;
}

}  // namespace
}  // namespace retro

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: device_step_benchmark train|sample CONFIG COUNT [KEY=VALUE...]\n");
    return 2;
  }
  try {
    return retro::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "device_step_benchmark: {}\n", error.what());
    return 1;
  }
}
