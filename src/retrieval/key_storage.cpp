#include "key_storage.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <immintrin.h>

#include "retro/core/error.h"
#include "retro/core/half.h"
#include "retro/retrieval/retrieval_database.h"

#include "int8_keys.h"

namespace retro {
namespace {

constexpr float kLargestFloat16 = 65504.0F;
constexpr float kLargestInt8 = 1e30F;

/// core/half.h, eight at a time: scanning float16 keys for one query is mostly this.
[[gnu::target("avx,f16c")]] void widen_float16(std::span<const uint16_t> half,
                                               std::span<float> values) {
  constexpr size_t kStep = 8;
  size_t i = 0;
  for (; i + kStep <= half.size(); i += kStep) {
    const auto* source = reinterpret_cast<const __m128i*>(half.data() + i);
    _mm256_storeu_ps(values.data() + i, _mm256_cvtph_ps(_mm_loadu_si128(source)));
  }
  for (; i < half.size(); ++i) values[i] = float_from_float16(half[i]);
}

float largest_value(ArrayType type) {
  if (type == ArrayType::kFloat16) return kLargestFloat16;
  return type == ArrayType::kUint8 ? kLargestInt8 : std::numeric_limits<float>::max();
}

void check_values(std::span<const float> keys, ArrayType type) {
  const float limit = largest_value(type);
  for (const float value : keys) {
    RETRO_CHECK(std::abs(value) <= limit,
                "a key holds {}, expected a finite value of at most {}; check the embedder, or set "
                "database.key_storage to float32",
                value, limit);
  }
}

void append_int8(std::span<const float> keys, size_t width, ArrayFileWriter& file) {
  const size_t row_bytes = width + kScaleBytes;
  std::vector<uint8_t> rows(keys.size() / width * row_bytes);
  for (size_t row = 0; row < keys.size() / width; ++row) {
    encode_int8(keys.subspan(row * width, width),
                std::span(rows).subspan(row * row_bytes, row_bytes));
  }
  file.append(std::span<const uint8_t>(rows));
}

}  // namespace

ArrayType key_type(const std::string& key_storage) {
  RETRO_CHECK(key_storage == "float16" || key_storage == "float32" || key_storage == "int8",
              "database.key_storage is `{}`, expected float32, float16 or int8", key_storage);
  if (key_storage == "int8") return ArrayType::kUint8;
  return key_storage == "float16" ? ArrayType::kFloat16 : ArrayType::kFloat32;
}

uint64_t key_columns(ArrayType type, int64_t key_width) {
  return static_cast<uint64_t>(key_width + (type == ArrayType::kUint8 ? kScaleBytes : 0));
}

int64_t stored_key_bytes(const std::string& key_storage, int64_t key_width) {
  const ArrayType type = key_type(key_storage);
  return static_cast<int64_t>(key_columns(type, key_width) * array_type_size(type));
}

void append_keys(std::span<const float> keys, int64_t key_width, ArrayType type,
                 ArrayFileWriter& file) {
  check_values(keys, type);
  if (type == ArrayType::kFloat32) return file.append(keys);
  if (type == ArrayType::kUint8) return append_int8(keys, static_cast<size_t>(key_width), file);
  std::vector<uint16_t> half(keys.size());
  std::ranges::transform(keys, half.begin(), float16_from_float);
  file.append(std::span<const uint16_t>(half));
}

void read_keys(const ArrayFile& file, int64_t first_row, int64_t key_width, std::span<float> keys) {
  const auto width = static_cast<size_t>(key_width);
  const size_t columns = file.columns();
  const size_t first = static_cast<size_t>(first_row) * columns;
  if (file.header().type == ArrayType::kFloat32) {
    std::ranges::copy(file.values<float>().subspan(first, keys.size()), keys.begin());
  } else if (file.header().type == ArrayType::kFloat16) {
    widen_float16(file.values<uint16_t>().subspan(first, keys.size()), keys);
  } else {
    const auto values = file.values<uint8_t>();
    for (size_t row = 0; row < keys.size() / width; ++row) {
      decode_int8(values.subspan(first + row * columns, columns), keys.subspan(row * width, width));
    }
  }
}

}  // namespace retro
