// Format: docs/gguf.md of github.com/ggml-org/ggml. Magic, version, counts; then the metadata (key,
// type, value), the tensor infos (name, dimensions fastest first, type, offset), padding, and the
// data.
#include "retro/core/gguf.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "retro/core/bundle.h"
#include "retro/core/error.h"
#include "retro/core/quantized_blocks.h"

namespace retro {
namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "GGUF";
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kLargestAlignment = 1 << 20;
constexpr int kDeepestArray = 4;
constexpr uint32_t kMostDimensions = 4;

/// Reads forward through the file; every length is checked before it is used.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto length = number<uint64_t>();
    const auto bytes = take(length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  uint64_t remaining() const { return bytes_.size() - position_; }
  uint64_t position() const { return position_; }

 private:
  std::span<const std::byte> take(uint64_t length) {
    RETRO_CHECK(length <= remaining(),
                "truncated at byte {}: {} more bytes are needed, {} are there", position_, length,
                remaining());
    const auto taken = bytes_.subspan(position_, length);
    position_ += length;
    return taken;
  }
  std::span<const std::byte> bytes_;
  uint64_t position_ = 0;
};

enum ValueType : uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64
};

json read_value(Cursor& cursor, uint32_t type, int depth);

json read_array(Cursor& cursor, int depth) {
  RETRO_CHECK(depth < kDeepestArray, "arrays are nested more than {} deep", kDeepestArray);
  const auto type = cursor.number<uint32_t>();
  const auto count = cursor.number<uint64_t>();
  // Every element takes a byte at least.
  RETRO_CHECK(count <= cursor.remaining(), "truncated: an array of {} elements, {} bytes are left",
              count, cursor.remaining());
  json list = json::array();
  auto& elements = list.get_ref<json::array_t&>();
  elements.reserve(count);
  for (uint64_t i = 0; i < count; ++i) elements.push_back(read_value(cursor, type, depth + 1));
  return list;
}

json read_value(Cursor& cursor, uint32_t type, int depth) {
  switch (type) {
    case kUint8:
      return cursor.number<uint8_t>();
    case kInt8:
      return cursor.number<int8_t>();
    case kUint16:
      return cursor.number<uint16_t>();
    case kInt16:
      return cursor.number<int16_t>();
    case kUint32:
      return cursor.number<uint32_t>();
    case kInt32:
      return cursor.number<int32_t>();
    case kFloat32:
      return cursor.number<float>();
    case kBool:
      return cursor.number<uint8_t>() != 0;
    case kString:
      return cursor.text();
    case kArray:
      return read_array(cursor, depth);
    case kUint64:
      return cursor.number<uint64_t>();
    case kInt64:
      return cursor.number<int64_t>();
    case kFloat64:
      return cursor.number<double>();
    default:
      throw Error(fmt::format("value type {} is unknown (0 to 12 are defined)", type));
  }
}

// enum ggml_type of ggml.h. Those without a block format here are named when refused.
constexpr std::pair<uint32_t, std::string_view> kTensorTypes[] = {
    {0, "F32"},     {1, "F16"},    {2, "Q4_0"},     {3, "Q4_1"},    {6, "Q5_0"},     {7, "Q5_1"},
    {8, "Q8_0"},    {9, "Q8_1"},   {10, "Q2_K"},    {11, "Q3_K"},   {12, "Q4_K"},    {13, "Q5_K"},
    {14, "Q6_K"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
    {20, "IQ4_NL"}, {21, "IQ3_S"}, {22, "IQ2_S"},   {23, "IQ4_XS"}, {24, "I8"},      {25, "I16"},
    {26, "I32"},    {27, "I64"},   {28, "F64"},     {29, "IQ1_M"},  {30, "BF16"},    {34, "TQ1_0"},
    {35, "TQ2_0"},  {39, "MXFP4"},
};

const BlockFormat& format_of(uint32_t type, const std::string& name) {
  std::string type_name = fmt::format("type {}", type);
  for (const auto& [id, known] : kTensorTypes) {
    if (id == type) type_name = known;
  }
  const BlockFormat* format = find_block_format(type_name);
  RETRO_CHECK(
      format != nullptr,
      "tensor `{}` is {}, which is not supported; known are F32, F16, BF16, F64, Q8_0, Q4_0, "
      "Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K",
      name, type_name);
  return *format;
}

struct TensorInfo {
  std::string name;
  TensorView view;
  uint64_t offset = 0;  ///< in the data
  uint64_t bytes = 0;
};

/// Dimensions fastest first in the file, slowest first in a TensorView.
std::vector<int64_t> read_shape(Cursor& cursor, const std::string& name) {
  const auto rank = cursor.number<uint32_t>();
  RETRO_CHECK(rank <= kMostDimensions, "tensor `{}` has {} dimensions, at most {}", name, rank,
              kMostDimensions);
  std::vector<int64_t> shape(rank);
  for (auto size = shape.rbegin(); size != shape.rend(); ++size) {
    const auto stored = cursor.number<uint64_t>();
    RETRO_CHECK(std::in_range<int64_t>(stored), "tensor `{}`: its shape is too large", name);
    *size = static_cast<int64_t>(stored);
  }
  return shape;
}

uint64_t checked_bytes(const std::vector<int64_t>& shape, const BlockFormat& format,
                       const std::string& name) {
  const int64_t row = shape.empty() ? 1 : shape.back();
  RETRO_CHECK(row % format.elements == 0,
              "tensor `{}`: rows of {} elements are no whole blocks of {}", name, row,
              format.elements);
  auto bytes = static_cast<uint64_t>(format.bytes);
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto size =
        static_cast<uint64_t>(i + 1 < shape.size() ? shape[i] : row / format.elements);
    RETRO_CHECK(size == 0 || bytes <= std::numeric_limits<int64_t>::max() / size,
                "tensor `{}`: its shape is too large", name);
    bytes *= size;
  }
  return bytes;
}

TensorInfo read_tensor_info(Cursor& cursor) {
  TensorInfo info;
  info.name = cursor.text();
  info.view.shape = read_shape(cursor, info.name);
  const BlockFormat& format = format_of(cursor.number<uint32_t>(), info.name);
  info.view.dtype = format.name;
  info.bytes = checked_bytes(info.view.shape, format, info.name);
  info.offset = cursor.number<uint64_t>();
  return info;
}

json read_metadata(Cursor& cursor, uint64_t count) {
  json metadata = json::object();
  for (uint64_t i = 0; i < count; ++i) {
    const std::string key = cursor.text();
    RETRO_CHECK(!metadata.contains(key), "key `{}` stands twice", key);
    try {
      metadata[key] = read_value(cursor, cursor.number<uint32_t>(), 0);
    } catch (const Error& error) {
      throw Error(fmt::format("key `{}`: {}", key, error.what()));
    }
  }
  return metadata;
}

uint64_t alignment_of(const json& metadata) {
  const auto found = metadata.find("general.alignment");
  if (found == metadata.end()) return kDefaultAlignment;
  const uint64_t alignment = found->is_number_unsigned() ? found->get<uint64_t>() : 0;
  RETRO_CHECK(alignment > 0 && alignment % 8 == 0 && alignment <= kLargestAlignment,
              "`general.alignment` is no multiple of 8 up to {}", kLargestAlignment);
  return alignment;
}

void check_version(Cursor& cursor) {
  RETRO_CHECK(cursor.remaining() >= kMagic.size(), "not a GGUF file ({} bytes)",
              cursor.remaining());
  uint32_t magic = 0;
  std::memcpy(&magic, kMagic.data(), sizeof magic);
  RETRO_CHECK(cursor.number<uint32_t>() == magic, "not a GGUF file");
  const auto version = cursor.number<uint32_t>();
  RETRO_CHECK(version == 2 || version == 3, "GGUF version {}{}; versions 2 and 3 are read", version,
              version % 65536 == 0 ? " (a big-endian file)" : "");
}

/// The tensors' places; they may lie anywhere in the data but must lie in it.
void place_tensor(TensorInfo& info, std::span<const std::byte> data, uint64_t alignment) {
  RETRO_CHECK(info.offset % alignment == 0, "tensor `{}`: offset {} is no multiple of {}",
              info.name, info.offset, alignment);
  RETRO_CHECK(info.offset <= data.size() && info.bytes <= data.size() - info.offset,
              "truncated: tensor `{}` needs bytes {} to {} of the data, which has {}", info.name,
              info.offset, info.offset + info.bytes, data.size());
  info.view.bytes = data.subspan(info.offset, info.bytes);
}

}  // namespace

GgufReader::GgufReader(const std::filesystem::path& path) : file_(path) {
  try {
    read();
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
}

void GgufReader::read() {
  Cursor cursor(file_.bytes());
  check_version(cursor);
  const auto num_tensors = cursor.number<uint64_t>();
  const auto num_keys = cursor.number<uint64_t>();
  metadata_ = read_metadata(cursor, num_keys);
  std::vector<TensorInfo> infos;
  for (uint64_t i = 0; i < num_tensors; ++i) infos.push_back(read_tensor_info(cursor));
  const uint64_t alignment = alignment_of(metadata_);
  const uint64_t begin = (cursor.position() + alignment - 1) / alignment * alignment;
  const auto data = file_.bytes().subspan(std::min<uint64_t>(begin, file_.bytes().size()));
  for (TensorInfo& info : infos) {
    place_tensor(info, data, alignment);
    RETRO_CHECK(tensors_.emplace(info.name, std::move(info.view)).second,
                "tensor `{}` stands twice", info.name);
  }
}

bool is_gguf_file(const std::filesystem::path& path) {
  return read_beginning(path, kMagic.size()) == kMagic;
}

std::optional<std::filesystem::path> find_gguf(const std::filesystem::path& folder) {
  std::optional<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".gguf") continue;
    if (found) return std::nullopt;
    found = entry.path();
  }
  return found;
}

}  // namespace retro
