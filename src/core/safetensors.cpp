// Format: https://huggingface.co/docs/safetensors. 8 bytes little-endian header length, a JSON
// header, then the data; each entry has dtype, shape and data_offsets relative to the data, which
// they cover without holes.
#include "retro/core/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"

namespace retro {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

// The limit of the reference implementation; a longer header is a foreign file.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct TypeSize {
  std::string_view name;
  uint64_t bytes;
};
constexpr TypeSize kElementTypes[] = {{"BOOL", 1},    {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1},
                                      {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
                                      {"BF16", 2},    {"I32", 4}, {"U32", 4}, {"F32", 4},
                                      {"I64", 8},     {"U64", 8}, {"F64", 8}};

/// JSON keeps the last of two equal keys without a word; a tensor named twice is a damaged file.
class TwiceNamed {
 public:
  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    if (event != json::parse_event_t::key || depth != 1) return true;
    const auto& name = parsed.get_ref<const std::string&>();
    RETRO_CHECK(names_.insert(name).second, "tensor `{}` stands twice in the header", name);
    return true;
  }

 private:
  std::set<std::string> names_;
};

json parse_header(std::string_view text) {
  json header;
  try {
    TwiceNamed twice_named;
    header = json::parse(text.begin(), text.end(), std::ref(twice_named));
  } catch (const json::exception&) {
    throw Error("the header is not JSON");
  }
  RETRO_CHECK(header.is_object(), "the header is not a JSON object");
  return header;
}

/// A list of `value`'s non-negative integers under `key`.
std::vector<uint64_t> numbers_of(const json& entry, const char* key, const std::string& name) {
  RETRO_CHECK(entry.is_object() && entry.contains(key) && entry[key].is_array(),
              "tensor `{}` has no `{}`", name, key);
  std::vector<uint64_t> numbers;
  for (const json& number : entry[key]) {
    RETRO_CHECK(number.is_number_unsigned(), "tensor `{}`: bad number in `{}`", name, key);
    numbers.push_back(number.get<uint64_t>());
  }
  return numbers;
}

uint64_t checked_bytes(const std::vector<uint64_t>& shape, uint64_t element_bytes,
                       const std::string& name) {
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  uint64_t bytes = element_bytes;
  // A zero makes the product zero, but the other sizes must still be representable.
  for (const uint64_t size : shape) {
    RETRO_CHECK(size <= kLargest && (size == 0 || bytes <= kLargest / size),
                "tensor `{}`: its shape is too large", name);
    bytes *= size;
  }
  return bytes;
}

struct Entry {
  std::string name;
  TensorView view;
  uint64_t begin;
  uint64_t end;
};

Entry entry_of(const std::string& name, const json& value) {
  Entry entry{name, {}, 0, 0};
  const auto shape = numbers_of(value, "shape", name);
  const auto offsets = numbers_of(value, "data_offsets", name);
  RETRO_CHECK(value.contains("dtype") && value["dtype"].is_string(), "tensor `{}` has no `dtype`",
              name);
  RETRO_CHECK(offsets.size() == 2 && offsets[0] <= offsets[1], "tensor `{}`: bad `data_offsets`",
              name);
  entry.view.dtype = value["dtype"].get<std::string>();
  entry.view.shape.assign(shape.begin(), shape.end());
  entry.begin = offsets[0];
  entry.end = offsets[1];
  const uint64_t bytes = checked_bytes(shape, safetensors_dtype_size(entry.view.dtype), name);
  RETRO_CHECK(entry.end - entry.begin == bytes, "tensor `{}`: {} bytes of data, its shape needs {}",
              name, entry.end - entry.begin, bytes);
  return entry;
}

std::map<std::string, std::string> metadata_of(const json& value) {
  RETRO_CHECK(value.is_object(), "`__metadata__` is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    RETRO_CHECK(text.is_string(), "`__metadata__`: `{}` is not text", key);
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

/// The data must be covered once, without holes, as the reference implementation demands.
void check_coverage(std::vector<Entry>& entries, uint64_t data_bytes) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t end = 0;
  for (const Entry& entry : entries) {
    RETRO_CHECK(entry.begin >= end, "tensor `{}` overlaps another", entry.name);
    RETRO_CHECK(entry.begin == end, "unused bytes before tensor `{}`", entry.name);
    end = entry.end;
    RETRO_CHECK(end <= data_bytes,
                "truncated: tensor `{}` ends at byte {} of the data, which has {}", entry.name, end,
                data_bytes);
  }
  RETRO_CHECK(end == data_bytes, "{} bytes after the last tensor", data_bytes - end);
}

std::string_view header_text(std::span<const std::byte> bytes) {
  uint64_t header_bytes = 0;
  RETRO_CHECK(bytes.size() >= sizeof header_bytes, "truncated: {} bytes", bytes.size());
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  RETRO_CHECK(header_bytes <= kMaxHeaderBytes, "not a safetensors file (header of {} bytes)",
              header_bytes);
  RETRO_CHECK(header_bytes <= bytes.size() - sizeof header_bytes,
              "truncated: header of {} bytes in a file of {}", header_bytes, bytes.size());
  return {reinterpret_cast<const char*>(bytes.data()) + sizeof header_bytes, header_bytes};
}

}  // namespace

uint64_t safetensors_dtype_size(const std::string& dtype) {
  for (const auto& [name, bytes] : kElementTypes) {
    if (name == dtype) return bytes;
  }
  throw Error(fmt::format("tensor type `{}` is unknown", dtype));
}

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path) : file_(path) {
  try {
    read_header();
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
}

void SafetensorsReader::read_header() {
  const std::string_view text = header_text(file_.bytes());
  const auto data = file_.bytes().subspan(sizeof(uint64_t) + text.size());
  std::vector<Entry> entries;
  const json header = parse_header(text);
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      metadata_ = metadata_of(value);
    } else {
      entries.push_back(entry_of(name, value));
    }
  }
  check_coverage(entries, data.size());
  for (Entry& entry : entries) {
    entry.view.bytes = data.subspan(entry.begin, entry.end - entry.begin);
    tensors_.emplace(std::move(entry.name), std::move(entry.view));
  }
}

const TensorView& SafetensorsReader::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, view] : tensors_) names.push_back(known);
  const std::string nearest = nearest_name(name, names);
  throw Error(fmt::format("{}: no tensor `{}`{}", file_.path().string(), name,
                          nearest.empty() ? "" : fmt::format("; the nearest is `{}`", nearest)));
}

}  // namespace retro
