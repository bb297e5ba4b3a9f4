#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/safetensors.h"

namespace retro {
namespace {

using nlohmann::json;
using NamedTensor = std::pair<const std::string, TensorView>;

constexpr size_t kHeaderAlignment = 8;

void check_tensor(const std::filesystem::path& path, const NamedTensor& tensor) {
  const auto& [name, view] = tensor;
  RETRO_CHECK(name != "__metadata__", "{}: a tensor cannot be named `{}`", path.string(), name);
  const bool is_shape_valid =
      std::all_of(view.shape.begin(), view.shape.end(), [](int64_t size) { return size >= 0; });
  RETRO_CHECK(is_shape_valid &&
                  static_cast<uint64_t>(view.num_elements()) * safetensors_dtype_size(view.dtype) ==
                      view.bytes.size(),
              "{}: tensor `{}` of {} elements of {} has {} bytes", path.string(), name,
              view.num_elements(), view.dtype, view.bytes.size());
}

/// Wide types first: every tensor then begins at a multiple of its element size.
std::vector<const NamedTensor*> in_file_order(const std::map<std::string, TensorView>& tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return safetensors_dtype_size(a->second.dtype) > safetensors_dtype_size(b->second.dtype);
  });
  return order;
}

std::string header_of(const std::vector<const NamedTensor*>& order,
                      const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t begin = 0;
  for (const NamedTensor* tensor : order) {
    const auto& [name, view] = *tensor;
    const uint64_t end = begin + view.bytes.size();
    header[name] = {{"dtype", view.dtype}, {"shape", view.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, TensorView>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  for (const NamedTensor& tensor : tensors) check_tensor(path, tensor);
  const auto order = in_file_order(tensors);
  std::string header;
  try {
    header = header_of(order, metadata);
  } catch (const json::exception&) {
    throw Error(fmt::format("{}: a name or metadata text is not UTF-8", path.string()));
  }
  AtomicFile file(path);
  const uint64_t header_bytes = header.size();
  file.write(std::as_bytes(std::span(&header_bytes, 1)));
  file.write(header);
  for (const NamedTensor* tensor : order) file.write(tensor->second.bytes);
  file.commit();
}

}  // namespace retro
