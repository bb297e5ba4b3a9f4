#include "retro/ops/block_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include "retro/core/error.h"
#include "retro/core/half.h"

#include "cpu/kernels.h"
#include "gemm_cpu.h"
#include "scratch.h"
#include "shape_check.h"

namespace retro {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// Matrix rows decoded at a time: with 576 to 1,536 columns they stay in the caches.
constexpr int64_t kStripRows = 192;
/// Elements a thread should at least decode.
constexpr int64_t kDecodedElements = 16384;
/// Multiply-adds under which a second thread costs more than it brings.
constexpr int64_t kParallelWork = int64_t{1} << 16;

const cpu::BlockKernels& kernels_of(WeightFormat format) {
  const cpu::Kernels& kernels = cpu::active_kernels();
  return format == WeightFormat::kQ8_0 ? kernels.blocks_q8_0 : kernels.blocks_bfloat16;
}

void encode_bfloat16(const float* values, uint8_t* block) {
  for (int64_t i = 0; i < kBlockElements; ++i) {
    const uint16_t bits = bfloat16_from_float(values[i]);
    std::memcpy(block + 2 * i, &bits, sizeof bits);
  }
}

void encode_q8_0(const float* values, uint8_t* block) {
  float largest = 0;
  for (int64_t i = 0; i < kBlockElements; ++i) largest = std::max(largest, std::abs(values[i]));
  const float scale = largest / 127.0F;
  const float inverse = scale > 0 ? 1.0F / scale : 0.0F;
  const uint16_t bits = float16_from_float(scale);
  std::memcpy(block, &bits, sizeof bits);
  for (int64_t i = 0; i < kBlockElements; ++i)
    block[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(std::round(values[i] * inverse)));
}

/// Rows [begin, end) as float32, row-major.
void decode_rows(const BlockMatrix& matrix, int64_t begin, int64_t end, float* out) {
  const cpu::BlockKernels& kernels = kernels_of(matrix.format);
  const uint8_t* bytes = matrix.bytes_RB.const_data_ptr<uint8_t>();
  const int64_t row_bytes = matrix.bytes_RB.size(1);
  at::parallel_for(begin, end, std::max<int64_t>(kDecodedElements / matrix.columns, 1),
                   [&](int64_t first, int64_t last) {
                     kernels.decode(bytes + first * row_bytes,
                                    (last - first) * matrix.columns / kBlockElements,
                                    out + (first - begin) * matrix.columns);
                   });
}

/// Calls use(first row, rows, decoded rows) for the matrix's strips in order.
template <typename Use>
void for_each_strip(const BlockMatrix& matrix, const Use& use) {
  const size_t bytes = static_cast<size_t>(kStripRows * matrix.columns) * sizeof(float);
  auto* strip = static_cast<float*>(thread_scratch(ScratchSlot::kDecodedWeights, bytes));
  for (int64_t first = 0; first < matrix.rows; first += kStripRows) {
    const int64_t rows = std::min(kStripRows, matrix.rows - first);
    decode_rows(matrix, first, first + rows, strip);
    use(first, rows, strip);
  }
}

void multiply_thin(const at::Tensor& input_TC, const BlockMatrix& matrix, const at::Tensor& out) {
  const cpu::BlockProduct product{.rows = input_TC.size(0),
                                  .depth = matrix.columns,
                                  .left = input_TC.const_data_ptr<float>(),
                                  .left_stride = input_TC.stride(0),
                                  .blocks = matrix.bytes_RB.const_data_ptr<uint8_t>(),
                                  .row_bytes = matrix.bytes_RB.size(1),
                                  .out = out.mutable_data_ptr<float>(),
                                  .out_stride = out.stride(0)};
  const int64_t grain = std::max<int64_t>(kParallelWork / matrix.columns, 1);
  at::parallel_for(0, matrix.rows, grain, [&](int64_t begin, int64_t end) {
    kernels_of(matrix.format).multiply(product, begin, end);
  });
}

at::Tensor multiply(const at::Tensor& input_TC, const BlockMatrix& matrix, Precision precision) {
  const int64_t tokens = input_TC.size(0);
  const at::Tensor out_TR = at::empty({tokens, matrix.rows}, input_TC.options());
  if (tokens <= cpu::kThinRows) {
    multiply_thin(input_TC, matrix, out_TR);
    return out_TR;
  }
  for_each_strip(matrix, [&](int64_t first, int64_t rows, const float* strip) {
    gemm_cpu(cpu::GemmProblem<float>{.rows = tokens,
                                     .columns = rows,
                                     .depth = matrix.columns,
                                     .left = {input_TC.const_data_ptr<float>(), matrix.columns, 1},
                                     .right = {strip, 1, matrix.columns},
                                     .out = out_TR.mutable_data_ptr<float>() + first,
                                     .out_stride = matrix.rows},
             precision);
  });
  return out_TR;
}

/// grad [T, rows] x matrix.
at::Tensor multiply_transposed(const at::Tensor& grad_TR, const BlockMatrix& matrix,
                               Precision precision) {
  const int64_t tokens = grad_TR.size(0);
  const at::Tensor out_TC = at::empty({tokens, matrix.columns}, grad_TR.options());
  float* out = out_TC.mutable_data_ptr<float>();
  for_each_strip(matrix, [&](int64_t first, int64_t rows, const float* strip) {
    gemm_cpu(
        cpu::GemmProblem<float>{.rows = tokens,
                                .columns = matrix.columns,
                                .depth = rows,
                                .left = {grad_TR.const_data_ptr<float>() + first, matrix.rows, 1},
                                .right = {strip, matrix.columns, 1},
                                .out = out,
                                .out_stride = matrix.columns,
                                .addend = first > 0 ? out : nullptr,
                                .addend_stride = matrix.columns},
        precision);
  });
  return out_TC;
}

class BlockLinearFunction : public Function<BlockLinearFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& input_TC,
                          const BlockMatrix& matrix, Precision precision) {
    context->saved_data["bytes"] = matrix.bytes_RB;
    context->saved_data["format"] = static_cast<int64_t>(matrix.format);
    context->saved_data["columns"] = matrix.columns;
    context->saved_data["precision"] = static_cast<int64_t>(precision);
    return multiply(input_TC, matrix, precision);
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto number = [&](const char* name) { return context->saved_data[name].toInt(); };
    BlockMatrix matrix;
    matrix.bytes_RB = context->saved_data["bytes"].toTensor();
    matrix.format = static_cast<WeightFormat>(number("format"));
    matrix.rows = matrix.bytes_RB.size(0);
    matrix.columns = number("columns");
    return {multiply_transposed(grads[0].contiguous(), matrix,
                                static_cast<Precision>(number("precision"))),
            at::Tensor(), at::Tensor()};
  }
};

}  // namespace

BlockMatrix to_blocks(const at::Tensor& weight_any, WeightFormat format) {
  check_shape(weight_any, "to_blocks weight", {kAnyExtent, kAnyExtent});
  check_type(weight_any, "to_blocks weight", at::kFloat);
  RETRO_CHECK(weight_any.is_cpu(), "to_blocks: packed weights live on the CPU, got one on {}",
              weight_any.device().str());
  const at::Tensor weight = weight_any.detach().contiguous();
  RETRO_CHECK(weight.size(1) % kBlockElements == 0,
              "to_blocks weight: rows of {} elements are no multiple of {}", weight.size(1),
              kBlockElements);
  BlockMatrix matrix{{}, format, weight.size(0), weight.size(1)};
  const int64_t block_bytes = kernels_of(format).block_bytes;
  const int64_t row_blocks = matrix.columns / kBlockElements;
  matrix.bytes_RB = at::empty({matrix.rows, row_blocks * block_bytes}, at::kByte);
  const float* values = weight.const_data_ptr<float>();
  uint8_t* bytes = matrix.bytes_RB.mutable_data_ptr<uint8_t>();
  const auto encode = format == WeightFormat::kQ8_0 ? encode_q8_0 : encode_bfloat16;
  at::parallel_for(0, matrix.rows * row_blocks, kDecodedElements / kBlockElements,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t b = begin; b < end; ++b)
                       encode(values + b * kBlockElements, bytes + b * block_bytes);
                   });
  return matrix;
}

at::Tensor from_blocks(const BlockMatrix& matrix) {
  const at::Tensor out = at::empty({matrix.rows, matrix.columns}, at::kFloat);
  decode_rows(matrix, 0, matrix.rows, out.mutable_data_ptr<float>());
  return out;
}

at::Tensor block_linear(const at::Tensor& input, const BlockMatrix& matrix, Precision precision) {
  RETRO_CHECK(input.defined() && input.dim() >= 1 && input.size(-1) == matrix.columns,
              "block_linear input: expected [..., {}], got {}", matrix.columns, shape_of(input));
  check_type(input, "block_linear input", at::kFloat);
  RETRO_CHECK(input.is_cpu(), "block_linear: packed weights live on the CPU, the input on {}",
              input.device().str());
  std::vector<int64_t> shape = input.sizes().vec();
  shape.back() = matrix.rows;
  return BlockLinearFunction::apply(input.reshape({-1, matrix.columns}).contiguous(), matrix,
                                    precision)
      .view(shape);
}

}  // namespace retro
