#include "foreign_config.h"

#include <algorithm>
#include <limits>

#include <fmt/ranges.h>

#include "retro/core/log.h"

namespace retro {

using nlohmann::json;

int64_t read_size(const json& config, const std::string& key, const std::string& where) {
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  const auto size = json_get<int64_t>(config, key, where);
  RETRO_CHECK(size >= 1 && size <= kLargest, "{}: `{}` is {}; it must lie between 1 and {}", where,
              key, size, kLargest);
  return size;
}

int64_t read_size_or(const json& config, const std::string& key, int64_t fallback,
                     const std::string& where) {
  const bool is_given = config.is_object() && config.contains(key) && !config.at(key).is_null();
  return is_given ? read_size(config, key, where) : fallback;
}

void require_usual(const json& config, const std::string& key, const json& usual,
                   const std::string& where) {
  if (!config.is_object() || !config.contains(key)) return;
  const json& value = config.at(key);
  RETRO_CHECK(value.is_null() || value == usual, "{}: `{}: {:.60}` is not supported", where, key,
              json_line(value));
}

std::vector<std::string> unknown_keys(const json& config, std::string_view prefix,
                                      std::span<const std::string_view> known) {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : config.items()) {
    if (key.starts_with(prefix) && std::ranges::find(known, key) == known.end())
      unknown.push_back(key);
  }
  return unknown;
}

void warn_of_unknown_keys(const std::vector<std::string>& keys, const std::string& where) {
  if (keys.empty()) return;
  log_warning("{}: not known here and left out of account: {}", where, fmt::join(keys, ", "));
}

namespace {

/// Without key and value projections, norms and biases: a product of sizes read from a file passes
/// 2^63 easily.
double least_weights(const ModelConfig& config) {
  const auto width = static_cast<double>(config.width);
  const auto inner = static_cast<double>(config.heads) * static_cast<double>(config.head_width);
  const auto layer = 2 * inner + 2 * static_cast<double>(config.feed_forward);
  const auto rows = static_cast<double>(config.vocabulary) +
                    static_cast<double>(config.block.max_positions) +
                    static_cast<double>(config.layers) * layer;
  return rows * width;
}

double num_elements(const ForeignTensors& source) {
  double all = 0;
  for (const auto& [name, shape] : source.shapes) {
    double elements = 1;
    for (const int64_t size : shape) elements *= static_cast<double>(size);
    all += elements;
  }
  return all;
}

}  // namespace

void check_size(const ModelConfig& config, const ForeignTensors& source) {
  const auto num_tensors = static_cast<int64_t>(source.shapes.size());
  RETRO_CHECK(config.layers <= num_tensors,
              "{}: its configuration has {} layers, but there are {} tensors", source.where,
              config.layers, num_tensors);
  // A configuration that is a little off is built all the same: the error then names the tensor.
  constexpr double kFarMore = 2;
  const double described = least_weights(config), held = num_elements(source);
  RETRO_CHECK(described <= kFarMore * held,
              "{}: its configuration describes at least {:.0f} weights, its tensors hold {:.0f}",
              source.where, described, held);
}

}  // namespace retro
