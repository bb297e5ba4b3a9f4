// The GGUF container (versions 2 and 3): metadata and named tensors in one file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "retro/core/mapped_file.h"
#include "retro/core/tensor_view.h"

namespace retro {

/// Memory-mapped; the views live as long as the reader. Truncated, big-endian or foreign files,
/// unknown tensor types and sizes that do not fit: Error naming the file and the tensor or key.
class GgufReader {
 public:
  explicit GgufReader(const std::filesystem::path& path);

  /// One object: every key with its value, as JSON's own types (read it with `json_get`). Text may
  /// hold invalid UTF-8.
  const nlohmann::json& metadata() const { return metadata_; }
  /// Shapes are row-major: the reverse of the order in the file.
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void read();
  MappedFile file_;
  nlohmann::json metadata_ = nlohmann::json::object();
  std::map<std::string, TensorView> tensors_;
};

/// True if the file begins as GGUF files do. Throws Error if it cannot be read.
bool is_gguf_file(const std::filesystem::path& path);

/// The only *.gguf of a folder; nothing if there is none, or more than one.
std::optional<std::filesystem::path> find_gguf(const std::filesystem::path& folder);

}  // namespace retro
