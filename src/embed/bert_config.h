// The shape of a BERT, read from config.json in the Hugging Face layout.
#pragma once

#include <cstdint>
#include <filesystem>

namespace retro {

struct BertConfig {
  int64_t vocabulary = 0;
  int64_t width = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t feed_forward = 0;
  int64_t positions = 0;  ///< longest input, special tokens included
  int64_t token_types = 0;
  double layer_norm_epsilon = 1e-12;

  int64_t head_width() const { return width / heads; }
};

/// Throws Error naming the file and the key for anything that is not a BERT with absolute positions
/// and erf-GELU.
BertConfig read_bert_config(const std::filesystem::path& path);

}  // namespace retro
