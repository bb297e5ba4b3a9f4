// A problem of relative or chunked cross-attention on the host, and its results.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace retro::testing {

using Values = std::vector<double>;

struct AttentionCase {
  std::string name;
  int64_t batch = 1;
  int64_t length = 1;  ///< positions of the query's sequence
  int64_t keys = 1;    ///< of an item
  int64_t heads = 1;
  int64_t key_heads = 1;
  int64_t width = 32;
  int64_t chunk_length = 0;  ///< 0: plain attention, one item a batch element
  int64_t key_period = 0;
  bool is_causal = false;
  int64_t causal_offset = 0;
  int64_t distance_offset = 0;
  bool has_positions = true;
  bool masks_keys = false;  ///< some keys are not real and hold NaN
  bool masks_rows = false;  ///< some rows are inactive
  bool has_segments = false;
  int64_t missing_neighbour = -1;  ///< keys of this period are all masked, and all of item 0
  int64_t stride_padding = 0;      ///< extra elements after each row of heads, NaN

  // Filled by fill(): row-major, [B, N, H, A], [B, L, T, G, A], [X, H, A], [H, A].
  Values query, key, value, relative, content_bias, position_bias, grad_out;
  std::vector<char> key_is_real, row_is_active;
  std::vector<int64_t> query_segment, key_segment;

  int64_t chunks() const { return chunk_length > 0 ? length / chunk_length : 1; }
  int64_t rows() const { return chunk_length > 0 ? chunk_length : length; }
  int64_t period() const { return key_period > 0 ? key_period : keys; }
  int64_t offset() const { return chunk_length > 0 ? chunk_length - 1 : distance_offset; }
  int64_t first_distance() const { return offset() - (period() - 1); }
  int64_t distances() const { return rows() + period() - 1; }
  /// Position of row i of chunk u, or -1 beyond the sequence.
  int64_t position(int64_t chunk, int64_t row) const {
    const int64_t p = chunk_length > 0 ? chunk * chunk_length + chunk_length - 1 + row : row;
    return p < length ? p : -1;
  }
  void fill(unsigned seed, const std::function<double(double)>& round);
};

struct AttentionOutputs {
  Values out, grad_query, grad_key, grad_value, grad_relative, grad_content_bias,
      grad_position_bias;
};

/// Something that computes attention: the simulator, a GPU, the CPU operation.
struct AttentionBackend {
  std::string name;
  std::function<AttentionOutputs(const AttentionCase&)> run;
};

inline Values random_values(int64_t count, double scale, std::mt19937_64& random,
                            const std::function<double(double)>& round) {
  std::normal_distribution<double> normal(0.0, scale);
  Values values(static_cast<size_t>(count));
  for (double& value : values) value = round(static_cast<float>(normal(random)));
  return values;
}

inline void AttentionCase::fill(unsigned seed, const std::function<double(double)>& round) {
  std::mt19937_64 random(seed);
  query = random_values(batch * length * heads * width, 1.0, random, round);
  key = random_values(batch * chunks() * keys * key_heads * width, 1.0, random, round);
  value = random_values(batch * chunks() * keys * key_heads * width, 1.0, random, round);
  if (has_positions) relative = random_values(distances() * heads * width, 1.0, random, round);
  content_bias = random_values(heads * width, 0.5, random, round);
  position_bias = random_values(heads * width, 0.5, random, round);
  grad_out = random_values(batch * length * heads * width, 1.0, random, round);
  const auto items = static_cast<size_t>(batch * chunks());
  const auto num_keys = static_cast<size_t>(keys);
  if (masks_keys || missing_neighbour >= 0) {
    key_is_real.assign(items * num_keys, 1);
    for (size_t i = 0; i < key_is_real.size(); ++i) {
      const auto in_item = static_cast<int64_t>(i % num_keys);
      if (masks_keys && random() % 4 == 0) key_is_real[i] = 0;
      if (missing_neighbour >= 0 && (in_item / period() == missing_neighbour || i < num_keys)) {
        key_is_real[i] = 0;
      }
    }
    const auto row = static_cast<size_t>(key_heads * width);
    for (size_t i = 0; i < key.size(); ++i) {
      if (key_is_real[i / row] != 0) continue;
      key[i] = value[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  if (masks_rows) {
    row_is_active.resize(static_cast<size_t>(batch * length));
    for (char& active : row_is_active) active = random() % 5 != 0;
  }
  if (has_segments) {
    for (int64_t i = 0; i < batch * length; ++i) query_segment.push_back(i % length * 3 / length);
    for (int64_t i = 0; i < batch * keys; ++i) key_segment.push_back(i % keys * 3 / keys);
  }
}

}  // namespace retro::testing
