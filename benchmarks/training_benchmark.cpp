// One training run or one sampling at the shape of retro-pytorch's example; one JSON line. Driven
// by training_benchmark.py.
//   training_benchmark train PRECISION THREADS STEPS [recompute]
//   training_benchmark sample PRECISION THREADS TOKENS
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <torch/types.h>

#include "retro/core/error.h"
#include "retro/core/memory.h"
#include "retro/data/batch.h"
#include "retro/generate/cached_decoder.h"
#include "retro/ops/gemm_peak.h"
#include "retro/train/training_step.h"

namespace retro {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kVocabulary = 32000, kBatch = 4, kLength = 512, kChunk = 64, kNeighbours = 2;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

ModelConfig shape() {
  ModelConfig config;
  config.vocabulary = kVocabulary;
  config.width = 512;
  config.layers = 6;
  config.heads = 8;
  config.head_width = 64;
  config.chunk_length = kChunk;
  config.cca_layers = {2, 5};
  config.encoder.layers = 2;
  config.encoder.cross_attention_layers = {0, 1};
  return config;
}

Batch random_batch() {
  Batch batch;
  batch.tokens_BN = torch::randint(kVocabulary, {kBatch, kLength}, torch::kInt64);
  batch.real_BN = torch::ones({kBatch, kLength}, torch::kBool);
  batch.targets_BN = torch::randint(kVocabulary, {kBatch, kLength}, torch::kInt64);
  batch.target_is_real_BN = torch::ones({kBatch, kLength}, torch::kBool);
  batch.document_BN = torch::zeros({kBatch, kLength}, torch::kInt64);
  batch.neighbours_BLKR = torch::randint(
      kVocabulary, {kBatch, kLength / kChunk, kNeighbours, 2 * kChunk}, torch::kInt64);
  batch.num_targets = kBatch * kLength;
  return batch;
}

int64_t peak_kilobytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// The best of `steps` steps after one that warms up.
void train(RetroModel& model, Precision precision, int threads, int64_t steps) {
  AdamW optimizer(trained_parameters(model), {});
  const Batch batch = random_batch();
  const auto step = [&] {
    return training_step(model, optimizer, [&] { return batch; }, 1, {1e-4, 1.0});
  };
  const double flops = 3 * step().forward_flops;
  double best = 1e30;
  for (int64_t i = 0; i < steps; ++i) {
    const auto start = Clock::now();
    step();
    best = std::min(best, seconds_since(start));
  }
  const int64_t memory = peak_kilobytes();  // before the yardstick takes its own
  fmt::print(
      "{{\"parameters\": {}, \"tokens_per_second\": {:.1f}, \"gflop_per_step\": {:.1f}, "
      "\"gemm_share\": {:.3f}, \"peak_megabytes\": {}}}\n",
      model->num_parameters(), static_cast<double>(kBatch * kLength) / best, 1e-9 * flops,
      flops / best / measure_gemm_peak(precision, threads), memory / 1024);
}

/// Neighbours without a search, as the peer is measured.
class RandomFetcher final : public NeighbourFetcher {
 public:
  std::vector<std::vector<FetchedNeighbour>> fetch(const std::vector<std::vector<int32_t>>& chunks,
                                                   int64_t k) override {
    FetchedNeighbour neighbour;
    for (int32_t i = 0; i < 2 * kChunk; ++i) neighbour.value_R.push_back((i * 7919) % kVocabulary);
    neighbour.chunk_id = 0;
    return {chunks.size(), std::vector<FetchedNeighbour>(static_cast<size_t>(k), neighbour)};
  }
};

/// Tokens a second around position 450 of one sequence.
void sample(RetroModel& model, int64_t tokens) {
  constexpr int64_t kStart = 450;
  torch::InferenceMode no_gradients;
  RandomFetcher fetcher;
  CachedDecoder decoder(model, &fetcher, kNeighbours, 2 * kLength);
  KeyValueCache cache = decoder.new_cache();
  std::vector<int32_t> prompt(static_cast<size_t>(kStart), 17);
  decoder.begin(cache, 2);
  at::Tensor logits = decoder.append_text(cache, prompt);
  const auto start = Clock::now();
  for (int64_t i = 0; i < tokens; ++i) {
    const auto next = static_cast<int32_t>(logits.argmax().item<int64_t>());
    logits = decoder.append_text(cache, std::array{next});
  }
  fmt::print("{{\"tokens_per_second\": {:.1f}}}\n",
             static_cast<double>(tokens) / seconds_since(start));
}

}  // namespace
}  // namespace retro

int main(int argc, char** argv) {
  using namespace retro;
  if (argc != 5 && argc != 6) {
    fmt::print(
        stderr,
        "usage: training_benchmark train|sample float32|bfloat16 THREADS COUNT [recompute]\n");
    return 2;
  }
  const Precision precision = resolve_precision(argv[2]);
  const int threads = std::atoi(argv[3]);
  at::set_num_threads(threads);
  keep_freed_memory();
  RetroModel model(shape(), 1);
  model->set_precision(precision);
  if (argc == 6) model->set_recompute(Recompute::kBlock);
  if (std::string(argv[1]) == "train") {
    train(model, precision, threads, std::atoi(argv[4]));
  } else {
    sample(model, std::atoi(argv[4]));
  }
  return 0;
}
