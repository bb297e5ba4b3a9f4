// The problems on which every backend of attention is compared with the oracle. Sizes lie around
// tiles of 32 and 64, chunks and retrieved lengths around METHOD's 64 and 128.
#pragma once

#include <string>
#include <vector>

#include "attention_case.h"

namespace retro::testing {

inline AttentionCase plain_case(const std::string& name, int64_t length, int64_t keys,
                                int64_t heads, int64_t key_heads, int64_t width) {
  AttentionCase problem;
  problem.name = name;
  problem.length = length;
  problem.keys = keys;
  problem.heads = heads;
  problem.key_heads = key_heads;
  problem.width = width;
  return problem;
}

inline AttentionCase chunked_case(int64_t chunk_length, int64_t retrieved_length,
                                  int64_t neighbours, int64_t length) {
  const std::string name = "m " + std::to_string(chunk_length) + " r " +
                           std::to_string(retrieved_length) + " k " + std::to_string(neighbours) +
                           " n " + std::to_string(length);
  AttentionCase problem = plain_case(name, length, neighbours * retrieved_length, 1, 1, 32);
  problem.chunk_length = chunk_length;
  problem.key_period = retrieved_length;
  return problem;
}

/// Causal; the last one decodes two queries after 128 keys.
inline std::vector<AttentionCase> self_attention_cases() {
  std::vector<AttentionCase> cases;
  for (const int64_t length : {1, 31, 64, 65, 130}) {
    cases.push_back(plain_case("length " + std::to_string(length), length, length, 2, 2, 32));
    cases.back().is_causal = true;
  }
  cases.push_back(plain_case("two queries after 128 keys", 2, 130, 2, 2, 64));
  cases.back().batch = 2;
  cases.back().is_causal = true;
  cases.back().causal_offset = cases.back().distance_offset = 128;
  return cases;
}

inline std::vector<AttentionCase> head_width_cases() {
  std::vector<AttentionCase> cases;
  for (const int64_t width : {32, 64, 96, 128}) {
    cases.push_back(plain_case("width " + std::to_string(width), 70, 70, 2, 1, width));
    cases.back().is_causal = true;
    cases.back().stride_padding = 16;
  }
  return cases;
}

inline std::vector<AttentionCase> encoder_cases() {
  std::vector<AttentionCase> cases{plain_case("short neighbours", 128, 128, 1, 1, 64),
                                   plain_case("a neighbour reads its chunk", 129, 65, 2, 2, 32)};
  for (AttentionCase& problem : cases) {
    problem.batch = 2;
    problem.masks_keys = true;
    problem.stride_padding = 8;
  }
  return cases;
}

inline std::vector<AttentionCase> mask_cases() {
  std::vector<AttentionCase> cases{
      plain_case("grouped heads, documents, causal", 100, 100, 4, 1, 32),
      plain_case("no positions", 65, 33, 2, 1, 96)};
  cases[0].batch = 2;
  cases[0].is_causal = cases[0].masks_keys = cases[0].has_segments = true;
  cases[1].has_positions = false;
  return cases;
}

inline std::vector<AttentionCase> chunk_length_cases() {
  std::vector<AttentionCase> cases;
  for (const int64_t m : {4, 63, 64, 65}) {
    cases.push_back(chunked_case(m, 2 * m, 2, 2 * m + m / 2));
  }
  for (const int64_t n : {63, 64, 65}) cases.push_back(chunked_case(64, 128, 1, n));
  return cases;
}

inline std::vector<AttentionCase> retrieved_length_cases() {
  std::vector<AttentionCase> cases;
  for (const int64_t r : {1, 127, 128, 129}) cases.push_back(chunked_case(64, r, 2, 130));
  return cases;
}

inline std::vector<AttentionCase> neighbour_cases() {
  std::vector<AttentionCase> cases;
  for (const int64_t k : {0, 1, 2, 10, 40}) cases.push_back(chunked_case(16, 32, k, 40));
  // One block of the backward works on several items, and none of them has a key.
  cases.push_back(chunked_case(16, 32, 0, 50));
  cases.back().heads = cases.back().key_heads = 128;
  return cases;
}

/// Chunk 0 has no neighbour, the others lack their second; some of the rest is padding, some rows
/// belong to another document.
inline std::vector<AttentionCase> missing_neighbour_cases() {
  AttentionCase problem = chunked_case(64, 128, 3, 200);
  problem.batch = 2;
  problem.heads = 2;
  problem.width = 64;
  problem.missing_neighbour = 1;
  problem.masks_keys = problem.masks_rows = true;
  problem.stride_padding = 8;
  return {problem};
}

}  // namespace retro::testing
