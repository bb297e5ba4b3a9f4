// Small BERTs and comparisons shared by the tests of this folder.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "retro/core/json.h"
#include "retro/core/safetensors.h"
#include "retro/embed/bert_embedder.h"

namespace retro::testing {

inline const std::filesystem::path kEmbedData = std::filesystem::path(RETRO_TEST_DATA) / "embed";
inline const std::filesystem::path kRandomBert = kEmbedData / "random_bert";
/// Fetched by tools/setup.sh.
inline const std::filesystem::path kMiniLm = std::filesystem::path(RETRO_DEPS_DIR) / "minilm";

/// Texts and their keys as `transformers` computes them (tools/reference/bert_fixture.py).
struct ReferenceKeys {
  explicit ReferenceKeys(const std::filesystem::path& path) {
    const SafetensorsReader reader(path);
    texts =
        parse_json(reader.metadata().at("texts"), path.string()).get<std::vector<std::string>>();
    width = reader.tensor("keys").shape.at(1);
    keys_TQ = to_float32(reader.tensor("keys"));
  }
  std::vector<std::string> texts;
  std::vector<float> keys_TQ;
  int64_t width = 0;
};

struct Embedded {
  std::vector<float> keys_TQ;
  std::vector<uint8_t> has_key;
};

inline Embedded embed_all(ChunkEmbedder& embedder, const std::vector<std::string>& texts) {
  Embedded result;
  result.keys_TQ.assign(texts.size() * static_cast<size_t>(embedder.key_width()), -1.0F);
  result.has_key.assign(texts.size(), 7);
  embedder.embed(texts, result.keys_TQ, result.has_key);
  return result;
}

inline std::span<const float> key(std::span<const float> keys_TQ, int64_t width, size_t text) {
  return keys_TQ.subspan(text * static_cast<size_t>(width), static_cast<size_t>(width));
}

/// Largest difference, relative to the largest element of `expected`.
inline double relative_difference(std::span<const float> actual, std::span<const float> expected) {
  double largest = 0;
  double difference = 0;
  for (size_t q = 0; q < expected.size(); ++q) {
    largest = std::max(largest, std::abs(double{expected[q]}));
    difference = std::max(difference, std::abs(double{actual[q]} - double{expected[q]}));
  }
  return difference / largest;
}

inline double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (size_t q = 0; q < a.size(); ++q) {
    ab += double{a[q]} * double{b[q]};
    aa += double{a[q]} * double{a[q]};
    bb += double{b[q]} * double{b[q]};
  }
  return ab / std::sqrt(aa * bb);
}

inline EmbedConfig float32_config(int64_t batch_pieces = EmbedConfig{}.batch_pieces) {
  EmbedConfig config;
  config.precision = "float32";
  config.batch_pieces = batch_pieces;
  return config;
}

}  // namespace retro::testing
