// An imported checkpoint: forward of two sequences of 512 and greedy decoding with a cache, one
// JSON line. imported_model_benchmark forward|decode FILE.gguf|DIRECTORY THREADS COUNT
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <c10/core/InferenceMode.h>
#include <fmt/core.h>

#include "retro/generate/cached_decoder.h"
#include "retro/model/gguf_import.h"
#include "retro/model/hugging_face.h"
#include "retro/ops/gemm_peak.h"

namespace retro {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Token ids that need no tokenizer: 1000, 1001, ...
at::Tensor some_tokens(int64_t batch, int64_t length) {
  return at::arange(1000, 1000 + batch * length, at::kLong).view({batch, length});
}

/// The best of `turns` passes, logits of every position included.
void run_forward(RetroModel& model, int64_t turns, int threads) {
  constexpr int64_t kBatch = 2, kLength = 512;
  const c10::InferenceMode inference;
  ModelInput input;
  input.tokens_BN = some_tokens(kBatch, kLength);
  double best = 1e30;
  for (int64_t turn = 0; turn < turns; ++turn) {
    const auto start = Clock::now();
    (void)model->logits(input);
    best = std::min(best, seconds_since(start));
  }
  const double rate = kBatch * kLength / best;
  const double flops = model->forward_flops(kBatch, kLength, 0) / best;
  fmt::print("{{\"tokens_per_second\": {:.1f}, \"gemm_share\": {:.3f}}}\n", rate,
             flops / measure_gemm_peak(Precision::kFloat32, threads));
}

/// After a prompt of 64 tokens.
void run_decode(RetroModel& model, int64_t tokens) {
  CachedDecoder decoder(model, nullptr, 0, 512);
  KeyValueCache cache;
  decoder.begin(cache, 0);
  const at::Tensor prompt = some_tokens(1, 64);
  const std::vector<int32_t> ids(prompt.data_ptr<int64_t>(), prompt.data_ptr<int64_t>() + 64);
  at::Tensor logits = decoder.append_text(cache, ids);
  const auto start = Clock::now();
  for (int64_t i = 0; i < tokens; ++i) {
    const auto token = logits.argmax().item<int32_t>();
    logits = decoder.append_text(cache, {&token, 1});
  }
  const double rate = static_cast<double>(tokens) / seconds_since(start);
  const double bytes = 4.0 * static_cast<double>(model->num_parameters());
  fmt::print("{{\"tokens_per_second\": {:.2f}, \"weights_read_gb_per_second\": {:.2f}}}\n", rate,
             rate * bytes / 1e9);
}

}  // namespace
}  // namespace retro

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: {} forward|decode FILE.gguf|DIRECTORY THREADS COUNT\n", argv[0]);
    return 2;
  }
  const std::string kind = argv[1];
  const std::filesystem::path path = argv[2];
  const int threads = std::atoi(argv[3]);
  at::set_num_threads(threads);
  retro::RetroModel model = std::filesystem::is_directory(path) ? retro::import_hugging_face(path)
                                                                : retro::import_gguf(path);
  model->eval();
  if (kind == "forward") {
    retro::run_forward(model, std::atoll(argv[4]), threads);
  } else {
    retro::run_decode(model, std::atoll(argv[4]));
  }
  return 0;
}
