// Runs an attention case through the kernels' launchers, on whatever Buffer's device is.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "attention_case.h"
#include "kernels/chunked_cross_attention.h"
#include "parity.h"

namespace retro::testing {

/// Buffer<U>: constructed from (name, count) uninitialised or (name, values) read-only; data(),
/// values().
template <typename T, template <typename> class Buffer>
class AttentionRunner {
 public:
  explicit AttentionRunner(const AttentionCase& problem) : case_(problem) {}

  AttentionOutputs run() {
    const AttentionCase& c = case_;
    const int64_t query_rows = c.batch * c.length;
    const int64_t key_rows = c.batch * c.chunks() * c.keys;
    const int64_t query_width = c.heads * c.width;
    const int64_t key_width = c.key_heads * c.width;
    Buffer<T> query("query", strided(c.query, query_width));
    Buffer<T> key("key", strided(c.key, key_width));
    Buffer<T> value("value", strided(c.value, key_width));
    Buffer<T> relative("relative", strided(c.relative, query_width));
    Buffer<T> grad_out("grad_out", strided(c.grad_out, query_width));
    Buffer<float> content_bias("content_bias", converted<float>(c.content_bias));
    Buffer<float> position_bias("position_bias", converted<float>(c.position_bias));
    Buffer<char> key_is_real("key_is_real", c.key_is_real);
    Buffer<char> row_is_active("row_is_active", c.row_is_active);
    Buffer<int64_t> query_segment("query_segment", c.query_segment);
    Buffer<int64_t> key_segment("key_segment", c.key_segment);
    Buffer<T> out("out", static_cast<size_t>(query_rows * stride(query_width)));
    Buffer<float> lse("lse", static_cast<size_t>(c.batch * c.chunks() * c.heads * c.rows()));

    kernels::AttentionBackwardParams<T> backward;
    kernels::AttentionParams<T>& p = backward.forward;
    p.batches = c.batch;
    p.rows = p.last_rows = c.length;
    p.keys = c.keys;
    p.heads = c.heads;
    p.key_heads = c.key_heads;
    p.width = c.width;
    p.distances = c.distances();
    p.query = {query.data(), c.length * stride(query_width), 0, stride(query_width), c.width};
    p.key = {key.data(), c.chunks() * c.keys * stride(key_width), c.keys * stride(key_width),
             stride(key_width), c.width};
    p.value = p.key;
    p.value.data = value.data();
    if (c.has_positions) p.relative = {relative.data(), 0, 0, stride(query_width), c.width};
    p.content_bias = {content_bias.data(), 0, 0, 0, c.width};
    p.position_bias = {position_bias.data(), 0, 0, 0, c.width};
    if (!c.key_is_real.empty()) {
      p.key_is_real = {as_bools(key_is_real), c.chunks() * c.keys, c.keys, 1, 0};
    }
    if (!c.row_is_active.empty()) p.row_is_active = {as_bools(row_is_active), c.length, 0, 1, 0};
    if (c.has_segments) {
      p.query_segment = {query_segment.data(), c.length, 0, 1, 0};
      p.key_segment = {key_segment.data(), c.keys, 0, 1, 0};
    }
    p.is_causal = c.is_causal;
    p.causal_offset = c.causal_offset;
    p.distance_offset = c.distance_offset;
    p.key_period = c.key_period;
    p.first_distance = c.first_distance();
    p.out = {out.data(), c.length * stride(query_width), 0, stride(query_width), c.width};
    p.lse = lse.data();

    const kernels::ChunkGeometry chunks{c.length, std::max<int64_t>(c.chunk_length, 1),
                                        c.key_period};
    const bool is_chunked = c.chunk_length > 0;
    if (is_chunked) {
      kernels::launch_chunked_cross_attention_forward(p, chunks, nullptr);
    } else {
      kernels::launch_relative_attention_forward(p, nullptr);
    }

    Buffer<T> grad_query("grad_query", static_cast<size_t>(query_rows * stride(query_width)));
    Buffer<T> grad_key("grad_key", static_cast<size_t>(key_rows * stride(key_width)));
    Buffer<T> grad_value("grad_value", static_cast<size_t>(key_rows * stride(key_width)));
    Buffer<T> grad_relative("grad_relative", c.relative.size());
    Buffer<float> grad_content_bias("grad_content_bias", c.content_bias.size());
    Buffer<float> grad_position_bias("grad_position_bias", c.content_bias.size());
    const int64_t workspace_floats =
        kernels::attention_workspace_floats(is_chunked ? kernels::arrange_chunks(p, chunks) : p);
    Buffer<float> workspace("workspace", static_cast<size_t>(workspace_floats));
    backward.grad_out = p.query;
    backward.grad_out.data = grad_out.data();
    backward.grad_query = p.out;
    backward.grad_query.data = grad_query.data();
    backward.grad_key = {grad_key.data(), p.key.batch_stride, p.key.chunk_stride, p.key.row_stride,
                         p.key.head_stride};
    backward.grad_value = backward.grad_key;
    backward.grad_value.data = grad_value.data();
    backward.grad_relative = c.has_positions ? grad_relative.data() : nullptr;
    backward.grad_content_bias = grad_content_bias.data();
    backward.grad_position_bias = grad_position_bias.data();
    backward.workspace = workspace.data();
    if (is_chunked) {
      kernels::launch_chunked_cross_attention_backward(backward, chunks, nullptr);
    } else {
      kernels::launch_relative_attention_backward(backward, nullptr);
    }
    return {dense(out.values(), query_width),
            dense(grad_query.values(), query_width),
            dense(grad_key.values(), key_width),
            dense(grad_value.values(), key_width),
            c.has_positions ? to_doubles(grad_relative.values()) : Values{},
            to_doubles(grad_content_bias.values()),
            to_doubles(grad_position_bias.values())};
  }

 private:
  int64_t stride(int64_t width) const { return width + case_.stride_padding; }

  /// Rows of `width` with NaN between them.
  std::vector<T> strided(const Values& values, int64_t width) const {
    const int64_t rows = static_cast<int64_t>(values.size()) / width;
    std::vector<T> result(static_cast<size_t>(rows * stride(width)),
                          from_double<T>(std::numeric_limits<double>::quiet_NaN()));
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < width; ++i) {
        result[static_cast<size_t>(row * stride(width) + i)] =
            from_double<T>(values[static_cast<size_t>(row * width + i)]);
      }
    }
    return result;
  }
  Values dense(const std::vector<T>& values, int64_t width) const {
    Values result;
    for (size_t i = 0; i < values.size(); ++i) {
      if (static_cast<int64_t>(i) % stride(width) < width) result.push_back(to_double(values[i]));
    }
    return result;
  }
  static const bool* as_bools(const Buffer<char>& buffer) {
    return reinterpret_cast<const bool*>(buffer.data());
  }

  const AttentionCase& case_;
};

}  // namespace retro::testing
