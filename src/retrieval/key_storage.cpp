#include "key_storage.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <immintrin.h>

#include "retro/core/error.h"
#include "retro/core/half.h"

namespace retro {
namespace {

constexpr float kLargestFloat16 = 65504.0F;

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

void check_values(std::span<const float> keys, ArrayType type) {
  const float limit =
      type == ArrayType::kFloat16 ? kLargestFloat16 : std::numeric_limits<float>::max();
  for (const float value : keys) {
    RETRO_CHECK(std::abs(value) <= limit,
                "a key holds {}, expected a finite value of at most {}; check the embedder, or set "
                "database.key_storage to float32",
                value, limit);
  }
}

}  // namespace

ArrayType key_type(const std::string& key_storage) {
  RETRO_CHECK(key_storage == "float16" || key_storage == "float32",
              "database.key_storage is `{}`, expected float16 or float32", key_storage);
  return key_storage == "float16" ? ArrayType::kFloat16 : ArrayType::kFloat32;
}

void append_keys(std::span<const float> keys, ArrayType type, ArrayFileWriter& file) {
  check_values(keys, type);
  if (type == ArrayType::kFloat32) {
    file.append(keys);
    return;
  }
  std::vector<uint16_t> half(keys.size());
  std::ranges::transform(keys, half.begin(), float16_from_float);
  file.append(std::span<const uint16_t>(half));
}

void read_keys(const ArrayFile& file, uint64_t first, std::span<float> keys) {
  if (file.header().type == ArrayType::kFloat32) {
    std::ranges::copy(file.values<float>().subspan(first, keys.size()), keys.begin());
  } else {
    widen_float16(file.values<uint16_t>().subspan(first, keys.size()), keys);
  }
}

}  // namespace retro
