#include <cstring>
#include <utility>

#include "retro/core/error.h"
#include "retro/core/half.h"
#include "retro/core/safetensors.h"

namespace retro {
namespace {

/// `convert` over the elements, each copied out first: tensors of other writers may be unaligned.
template <class Stored, class Result, class Convert>
std::vector<Result> convert_all(const TensorView& tensor, Convert convert) {
  std::vector<Result> results(tensor.bytes.size() / sizeof(Stored));
  for (size_t i = 0; i < results.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, tensor.bytes.data() + i * sizeof(Stored), sizeof stored);
    results[i] = static_cast<Result>(convert(stored));
  }
  return results;
}

template <class Stored, class Result>
std::vector<Result> cast_all(const TensorView& tensor) {
  return convert_all<Stored, Result>(tensor, [](Stored value) { return value; });
}

template <class Result>
std::vector<Result> to_floating(const TensorView& tensor) {
  if (tensor.dtype == "F32") return cast_all<float, Result>(tensor);
  if (tensor.dtype == "F64") return cast_all<double, Result>(tensor);
  if (tensor.dtype == "F16") return convert_all<uint16_t, Result>(tensor, float_from_float16);
  if (tensor.dtype == "BF16") return convert_all<uint16_t, Result>(tensor, float_from_bfloat16);
  throw Error(fmt::format("expected a tensor of F64, F32, F16 or BF16, found {}", tensor.dtype));
}

}  // namespace

int64_t TensorView::num_elements() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

std::vector<float> to_float32(const TensorView& tensor) { return to_floating<float>(tensor); }

std::vector<double> to_float64(const TensorView& tensor) { return to_floating<double>(tensor); }

std::vector<int64_t> to_int64(const TensorView& tensor) {
  if (tensor.dtype == "I64") return cast_all<int64_t, int64_t>(tensor);
  if (tensor.dtype == "I32") return cast_all<int32_t, int64_t>(tensor);
  if (tensor.dtype == "I16") return cast_all<int16_t, int64_t>(tensor);
  if (tensor.dtype == "I8") return cast_all<int8_t, int64_t>(tensor);
  if (tensor.dtype == "U8" || tensor.dtype == "BOOL") return cast_all<uint8_t, int64_t>(tensor);
  if (tensor.dtype == "U16") return cast_all<uint16_t, int64_t>(tensor);
  if (tensor.dtype == "U32") return cast_all<uint32_t, int64_t>(tensor);
  if (tensor.dtype == "U64") {
    return convert_all<uint64_t, int64_t>(tensor, [](uint64_t value) {
      RETRO_CHECK(std::in_range<int64_t>(value), "{} does not fit into int64", value);
      return value;
    });
  }
  throw Error(fmt::format("expected a tensor of integers, found {}", tensor.dtype));
}

}  // namespace retro
