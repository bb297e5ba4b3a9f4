// A model's weights by name, from GGUF or from one or many safetensors files.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "retro/core/gguf.h"
#include "retro/core/tensor_view.h"

namespace retro {

class SafetensorsReader;

/// Move-only; the views live as long as the source.
class TensorSource {
 public:
  /// `path`: a GGUF file, a safetensors file, an index (*.safetensors.index.json), or a folder with
  /// model.safetensors, model.safetensors.index.json and its shards, or one GGUF file. Throws Error
  /// in one line: what is missing (a shard, and the tensor that needs it), damaged, or of another
  /// kind.
  explicit TensorSource(const std::filesystem::path& path);
  ~TensorSource();
  TensorSource(TensorSource&&) noexcept;
  TensorSource& operator=(TensorSource&&) noexcept;

  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  bool contains(const std::string& name) const { return tensors_.contains(name); }
  /// Throws Error naming the source and the missing tensor (and the nearest name).
  const TensorView& tensor(const std::string& name) const;
  /// The tensor's elements as float32, row-major; `values` has as many. `num_threads` 0: all.
  void read(const std::string& name, std::span<float> values, int num_threads = 0) const;

  /// The file behind it where that is GGUF, else null: its metadata are the model's configuration.
  const GgufReader* gguf() const { return gguf_.get(); }
  const std::filesystem::path& path() const { return path_; }
  /// Every file read, the index not among them.
  std::vector<std::filesystem::path> files() const;
  /// Names these weights: a hash of names, types, shapes and bytes, the same for one file and for
  /// shards. Reads everything.
  std::string content_hash() const;

 private:
  void open_safetensors(const std::filesystem::path& path);
  void open_index(const std::filesystem::path& path);

  std::filesystem::path path_;
  std::unique_ptr<GgufReader> gguf_;
  std::vector<SafetensorsReader> shards_;
  std::map<std::string, TensorView> tensors_;
};

}  // namespace retro
