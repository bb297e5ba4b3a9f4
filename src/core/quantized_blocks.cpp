// Block layouts: ggml-common.h; arithmetic: dequantize_row_* in ggml-quants.c
// (github.com/ggml-org/ggml).
#include "retro/core/quantized_blocks.h"

#include <array>
#include <cstring>

#include "retro/core/error.h"
#include "retro/core/half.h"
#include "retro/core/parallel.h"

namespace retro {
namespace {

using Block = const uint8_t*;

constexpr int64_t kSmall = 32;
constexpr int64_t kSuper = 256;
constexpr int64_t kParallelElements = 1 << 16;  // less is done before a thread has started

template <class T>
T load(Block at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

float half_at(Block at) { return float_from_float16(load<uint16_t>(at)); }

int low(uint8_t byte) { return byte & 0xF; }
int high(uint8_t byte) { return byte >> 4; }

void f32(Block block, float* out) { *out = load<float>(block); }
void f64(Block block, float* out) { *out = static_cast<float>(load<double>(block)); }
void f16(Block block, float* out) { *out = half_at(block); }
void bf16(Block block, float* out) { *out = float_from_bfloat16(load<uint16_t>(block)); }

// Half-precision scale, 32 signed bytes.
void q8_0(Block block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i)
    out[i] = scale * static_cast<float>(static_cast<int8_t>(block[2 + i]));
}

// Scale, 16 bytes: element i in the low half of byte i, element i + 16 in the high half; minus 8.
void q4_0(Block block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(low(block[2 + i]) - 8);
    out[i + 16] = scale * static_cast<float>(high(block[2 + i]) - 8);
  }
}

// Scale, minimum, 16 bytes as above.
void q4_1(Block block, float* out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(low(block[4 + i])) + minimum;
    out[i + 16] = scale * static_cast<float>(high(block[4 + i])) + minimum;
  }
}

/// Bit i of `bits` as the fifth bit of a number.
int fifth_bit(uint32_t bits, int i) { return static_cast<int>(bits >> i & 1) << 4; }

// Scale, a fifth bit for each element, 16 bytes as above; minus 16.
void q5_0(Block block, float* out) {
  const float scale = half_at(block);
  const auto bits = load<uint32_t>(block + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>((low(block[6 + i]) | fifth_bit(bits, i)) - 16);
    out[i + 16] = scale * static_cast<float>((high(block[6 + i]) | fifth_bit(bits, i + 16)) - 16);
  }
}

// Scale, minimum, fifth bits, 16 bytes.
void q5_1(Block block, float* out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  const auto bits = load<uint32_t>(block + 4);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(low(block[8 + i]) | fifth_bit(bits, i)) + minimum;
    out[i + 16] =
        scale * static_cast<float>(high(block[8 + i]) | fifth_bit(bits, i + 16)) + minimum;
  }
}

/// Scale and minimum of sub-block i of a K block: 8 pairs of 6-bit numbers in 12 bytes.
struct ScaleAndMinimum {
  float scale;
  float minimum;
};

ScaleAndMinimum sub_block_scale(Block block, int i) {
  const Block packed = block + 4;
  int scale = packed[i] & 63;
  int minimum = packed[i + 4] & 63;
  if (i >= 4) {
    scale = low(packed[i + 4]) | packed[i - 4] >> 6 << 4;
    minimum = high(packed[i + 4]) | packed[i] >> 6 << 4;
  }
  return {half_at(block) * static_cast<float>(scale),
          half_at(block + 2) * static_cast<float>(minimum)};
}

// Scale, scale of the minima, 12 bytes of sub-block scales, then 4 x 32 bytes: sub-blocks 2i and
// 2i + 1 in their low and high halves.
void q4_k(Block block, float* out) {
  for (int i = 0; i < 8; ++i) {
    const auto [scale, minimum] = sub_block_scale(block, i);
    const Block packed = block + 16 + i / 2 * 32;
    for (int j = 0; j < 32; ++j) {
      const int value = i % 2 == 0 ? low(packed[j]) : high(packed[j]);
      *out++ = scale * static_cast<float>(value) - minimum;
    }
  }
}

// As q4_k with 32 bytes of fifth bits before the rest: bit i of byte j for element j of sub-block
// i.
void q5_k(Block block, float* out) {
  const Block bits = block + 16;
  for (int i = 0; i < 8; ++i) {
    const auto [scale, minimum] = sub_block_scale(block, i);
    const Block packed = block + 48 + i / 2 * 32;
    for (int j = 0; j < 32; ++j) {
      const int value = (i % 2 == 0 ? low(packed[j]) : high(packed[j])) | fifth_bit(bits[j], i);
      *out++ = scale * static_cast<float>(value) - minimum;
    }
  }
}

// Two halves of 128: 64 bytes of low 4 bits, 32 bytes of high 2 bits, 8 signed scales; minus 32.
void q6_k(Block block, float* out) {
  const float scale = half_at(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int quarter = i % 128 / 32;
    const uint8_t packed = block[half * 64 + quarter % 2 * 32 + i % 32];
    const int top = block[128 + half * 32 + i % 32] >> 2 * quarter & 3;
    const int value = ((quarter < 2 ? low(packed) : high(packed)) | top << 4) - 32;
    const auto sub_scale = static_cast<int8_t>(block[192 + i / 16]);
    out[i] = scale * static_cast<float>(sub_scale) * static_cast<float>(value);
  }
}

struct BlockType {
  BlockFormat format;
  void (*dequantize)(Block block, float* out);
};

constexpr BlockType kBlockTypes[] = {
    {{"F32", 1, 4}, f32},          {{"F64", 1, 8}, f64},          {{"F16", 1, 2}, f16},
    {{"BF16", 1, 2}, bf16},        {{"Q8_0", kSmall, 34}, q8_0},  {{"Q4_0", kSmall, 18}, q4_0},
    {{"Q4_1", kSmall, 20}, q4_1},  {{"Q5_0", kSmall, 22}, q5_0},  {{"Q5_1", kSmall, 24}, q5_1},
    {{"Q4_K", kSuper, 144}, q4_k}, {{"Q5_K", kSuper, 176}, q5_k}, {{"Q6_K", kSuper, 210}, q6_k},
};

const BlockType* find_type(std::string_view dtype) {
  for (const BlockType& type : kBlockTypes) {
    if (type.format.name == dtype) return &type;
  }
  return nullptr;
}

const BlockType& type_of(std::string_view dtype) {
  const BlockType* type = find_type(dtype);
  RETRO_CHECK(
      type != nullptr,
      "tensor type {} cannot be read as float32; known are F32, F64, F16, BF16, Q8_0, Q4_0, "
      "Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K",
      dtype);
  return *type;
}

void check_sizes(const BlockFormat& format, size_t bytes, size_t values) {
  const auto block_bytes = static_cast<size_t>(format.bytes);
  RETRO_CHECK(bytes % block_bytes == 0 &&
                  bytes / block_bytes * static_cast<size_t>(format.elements) == values,
              "{} bytes of {} do not hold {} values", bytes, format.name, values);
}

void dequantize_range(const BlockType& type, Block blocks, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i)
    type.dequantize(blocks + i * type.format.bytes, out + i * type.format.elements);
}

}  // namespace

const BlockFormat* find_block_format(std::string_view dtype) {
  const BlockType* type = find_type(dtype);
  return type == nullptr ? nullptr : &type->format;
}

void dequantize_blocks(std::string_view dtype, std::span<const std::byte> blocks,
                       std::span<float> values) {
  const BlockType& type = type_of(dtype);
  check_sizes(type.format, blocks.size(), values.size());
  dequantize_range(type, reinterpret_cast<Block>(blocks.data()),
                   static_cast<int64_t>(values.size()) / type.format.elements, values.data());
}

void read_float32(const TensorView& tensor, std::span<float> values, int num_threads) {
  const BlockType& type = type_of(tensor.dtype);
  check_sizes(type.format, tensor.bytes.size(), values.size());
  const auto blocks = reinterpret_cast<Block>(tensor.bytes.data());
  const int64_t elements = type.format.elements;
  parallel_for(
      static_cast<int64_t>(values.size()) / elements, num_threads,
      [&](int64_t begin, int64_t end) {
        dequantize_range(type, blocks + begin * type.format.bytes, end - begin,
                         values.data() + begin * elements);
      },
      kParallelElements / elements);
}

}  // namespace retro
