// Chunked cross-attention forward and backward beside ATen, one JSON line each, all in one process:
//   ours                 one operation
//   sdpa_bias            scaled-dot-product attention over reshaped chunks, the relative positions
//                        as an additive mask: the best formulation without a kernel of one's own
//   sdpa_no_bias         the same without positions: what no formulation with them can beat
//
//   cross_attention_benchmark DEVICE PRECISION [CHUNKS]
//
// m = 64, r = 128, k = 2, 16 heads of 64. CHUNKS is batch x chunks: 8192 unless given.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <torch/torch.h>

#include "retro/core/error.h"
#include "retro/ops/chunked_cross_attention.h"
#include "retro/ops/device.h"
#include "retro/ops/precision.h"

#include "device_memory.h"

namespace retro {
namespace {

constexpr int64_t kChunk = 64, kRetrieved = 128, kNeighbours = 2, kHeads = 16, kWidth = 64;
constexpr int64_t kChunksPerSequence = 32;

/// The operands of `ours`; sequences of 32 chunks.
struct Operands {
  at::Tensor query_BNHA, key_BLTHA, value_BLTHA, relative_XHA, content_bias_HA, position_bias_HA;

  Operands(int64_t chunks, at::Device device, Precision precision) {
    const int64_t batch = std::max<int64_t>(1, chunks / kChunksPerSequence);
    const int64_t per_sequence = chunks / batch;
    const auto random = [&](at::IntArrayRef shape, bool is_parameter) {
      const at::Tensor values = torch::randn(shape, at::TensorOptions(device)).mul(0.5);
      return (is_parameter ? values : as_activations(values, precision))
          .detach()
          .requires_grad_(true);
    };
    const int64_t keys = kNeighbours * kRetrieved;
    query_BNHA = random({batch, per_sequence * kChunk, kHeads, kWidth}, false);
    key_BLTHA = random({batch, per_sequence, keys, kHeads, kWidth}, false);
    value_BLTHA = random({batch, per_sequence, keys, kHeads, kWidth}, false);
    relative_XHA = random({kRetrieved + kChunk - 1, kHeads, kWidth}, false);
    content_bias_HA = random({kHeads, kWidth}, true);
    position_bias_HA = random({kHeads, kWidth}, true);
  }

  std::vector<at::Tensor> all() const {
    return {query_BNHA, key_BLTHA, value_BLTHA, relative_XHA, content_bias_HA, position_bias_HA};
  }
};

at::Tensor ours(const Operands& o) {
  return chunked_cross_attention({o.query_BNHA,
                                  o.key_BLTHA,
                                  o.value_BLTHA,
                                  o.relative_XHA,
                                  o.content_bias_HA,
                                  o.position_bias_HA,
                                  {},
                                  {}},
                                 kChunk, kRetrieved, kChunk - kRetrieved);
}

/// [B, N, H, A] -> queries of chunks [B * L, H, m, A], from position m - 1 on; the last chunk is
/// filled with zeros.
at::Tensor chunk_queries(const at::Tensor& query_BNHA) {
  const at::Tensor shifted =
      torch::constant_pad_nd(query_BNHA.slice(1, kChunk - 1), {0, 0, 0, 0, 0, kChunk - 1});
  return shifted.reshape({-1, kChunk, kHeads, kWidth}).transpose(1, 2);
}

at::Tensor chunk_keys(const at::Tensor& key_BLTHA) {
  return key_BLTHA.flatten(0, 1).transpose(1, 2);
}

at::Tensor back_to_positions(const at::Tensor& out_XHMA, const at::Tensor& query_BNHA) {
  const at::Tensor rows = out_XHMA.transpose(1, 2).reshape(query_BNHA.sizes());
  return torch::constant_pad_nd(rows.slice(1, 0, query_BNHA.size(1) - (kChunk - 1)),
                                {0, 0, 0, 0, kChunk - 1, 0});
}

/// The mask: (q + b_v) . relative[delta] / sqrt(A), gathered from the products with all distances.
at::Tensor position_scores(const Operands& o, const at::Tensor& query_XHMA) {
  const at::Tensor biased =
      query_XHMA + o.position_bias_HA.to(query_XHMA.scalar_type()).unsqueeze(1);
  const at::Tensor products = torch::matmul(biased, o.relative_XHA.permute({1, 2, 0}));
  const auto options = at::TensorOptions(query_XHMA.device()).dtype(torch::kLong);
  const at::Tensor row = torch::arange(kChunk, options).unsqueeze(1);
  const at::Tensor key = torch::arange(kRetrieved, options).unsqueeze(0);
  const at::Tensor index = row - key + (kRetrieved - 1);  // delta - (m - r)
  const at::Tensor scores =
      products.gather(-1, index.expand({products.size(0), kHeads, kChunk, kRetrieved}));
  return scores.repeat({1, 1, 1, kNeighbours}) / std::sqrt(static_cast<double>(kWidth));
}

at::Tensor sdpa(const Operands& o, bool has_positions) {
  const at::Tensor query = chunk_queries(o.query_BNHA);
  std::optional<at::Tensor> mask;
  at::Tensor content = query;
  if (has_positions) {
    mask = position_scores(o, query);
    content = query + o.content_bias_HA.to(query.scalar_type()).unsqueeze(1);
  }
  return back_to_positions(at::scaled_dot_product_attention(content, chunk_keys(o.key_BLTHA),
                                                            chunk_keys(o.value_BLTHA), mask),
                           o.query_BNHA);
}

struct Measured {
  double forward_ms = 1e30;
  double both_ms = 1e30;
  int64_t peak_bytes = 0;
};

double milliseconds(at::Device device, const std::function<void()>& work) {
  const auto wait = [&] {
    if (device.is_cuda()) torch::cuda::synchronize();
  };
  wait();
  const auto start = std::chrono::steady_clock::now();
  work();
  wait();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

/// The best of some rounds after one that warms up. Peak memory beyond the operands.
Measured measure(at::Device device, const Operands& operands,
                 const std::function<at::Tensor()>& function) {
  const int rounds = device.is_cuda() ? 20 : 3;
  Measured result;
  const at::Tensor direction = torch::randn_like(operands.query_BNHA);
  const auto both = [&] {
    torch::autograd::grad({function()}, operands.all(), {direction}, std::nullopt, false,
                          /*allow_unused=*/true);
  };
  both();
  forget_peak_memory(device);
  const int64_t before = peak_memory(device);
  for (int i = 0; i < rounds; ++i) {
    result.both_ms = std::min(result.both_ms, milliseconds(device, both));
    const torch::NoGradGuard no_gradients;
    result.forward_ms = std::min(result.forward_ms, milliseconds(device, [&] { function(); }));
  }
  result.peak_bytes = peak_memory(device) - before;
  return result;
}

void print(const std::string& name, int64_t chunks, const std::string& device, Precision precision,
           const Measured& measured) {
  fmt::print(
      "{{\"benchmark\": \"chunked_cross_attention\", \"formulation\": \"{}\", \"device\": \"{}\", "
      "\"precision\": \"{}\", \"chunks\": {}, \"forward_ms\": {:.3f}, \"forward_backward_ms\": "
      "{:.3f}, \"peak_megabytes\": {:.1f}}}\n",
      name, device, precision_name(precision), chunks, measured.forward_ms, measured.both_ms,
      static_cast<double>(measured.peak_bytes) / (1 << 20));
}

/// Both formulations with positions are the same function, or the comparison means nothing.
void check_same(const Operands& operands, Precision precision) {
  const torch::NoGradGuard no_gradients;
  const at::Tensor one = ours(operands).to(at::kFloat), other = sdpa(operands, true).to(at::kFloat);
  const double difference = (one - other).abs().max().item<double>();
  const double largest = other.abs().max().item<double>();
  RETRO_CHECK(difference < (precision == Precision::kFloat32 ? 1e-4 : 0.05) * largest,
              "the formulations differ by {} of {}", difference, largest);
}

int run(int argc, char** argv) {
  const std::string name = argv[1];
  const at::Device device = resolve_device(name);
  const Precision precision = resolve_precision(argv[2], device);
  const int64_t chunks = argc == 4 ? std::atoll(argv[3]) : 8192;
  torch::manual_seed(1);
  const Operands operands(chunks, device, precision);
  check_same(operands, precision);
  print("ours", chunks, name, precision, measure(device, operands, [&] { return ours(operands); }));
  print("sdpa_bias", chunks, name, precision,
        measure(device, operands, [&] { return sdpa(operands, true); }));
  print("sdpa_no_bias", chunks, name, precision,
        measure(device, operands, [&] { return sdpa(operands, false); }));
  return 0;
}

}  // namespace
}  // namespace retro

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    fmt::print(stderr, "usage: cross_attention_benchmark cpu|cuda float32|bfloat16 [CHUNKS]\n");
    return 2;
  }
  try {
    return retro::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "cross_attention_benchmark: {}\n", error.what());
    return 1;
  }
}
