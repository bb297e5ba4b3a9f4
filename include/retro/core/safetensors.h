// The safetensors container: named tensors in one file, readable from Python as they are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "retro/core/mapped_file.h"
#include "retro/core/tensor_view.h"

namespace retro {

/// Bytes of one element. Throws Error for a name the format does not have.
uint64_t safetensors_dtype_size(const std::string& dtype);

/// Read side; memory-mapped, the views live as long as the reader. Truncated, overlapping or
/// foreign files: Error.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::filesystem::path& path);
  /// Throws Error naming the file and the missing tensor (and the nearest name).
  const TensorView& tensor(const std::string& name) const;
  bool contains(const std::string& name) const { return tensors_.count(name) != 0; }
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void read_header();
  MappedFile file_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// Writes atomically; wide types first, then by name, so that every tensor is aligned; header
/// padded to 8 bytes. Throws Error for a tensor whose shape and bytes disagree.
void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, TensorView>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// Elements of an F64, F32, F16 or BF16 tensor in row-major order, converted. Throws Error for
/// other types.
std::vector<float> to_float32(const TensorView& tensor);
std::vector<double> to_float64(const TensorView& tensor);
/// Elements of an integer or BOOL tensor. Throws Error for other types and for U64 values above
/// 2^63 - 1.
std::vector<int64_t> to_int64(const TensorView& tensor);

}  // namespace retro
