// A named tensor's place in a mapped file, whatever the container.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace retro {

/// One tensor's place. `dtype` as the container writes it: "F32", "F64", "BF16", "F16", "I64",
/// "I32", "U8", "BOOL", ... in safetensors, also "Q8_0", "Q4_K", ... (blocks of a row) in GGUF.
/// `shape` is row-major, [out, in] for a matrix, in every container. `bytes` are little-endian, and
/// in files of other writers not always aligned to the element.
struct TensorView {
  std::string dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
  /// Product of `shape`; 1 for a scalar.
  int64_t num_elements() const;
};

}  // namespace retro
