// The one test body of attention: any backend against the oracle.
#pragma once

#include <string>

#include "attention_oracle.h"
#include "parity.h"

namespace retro::testing {

struct NamedOutput {
  const char* name;
  Values AttentionOutputs::*values;
  double plain_factor;
};

inline constexpr NamedOutput kAttentionOutputs[] = {
    {"out", &AttentionOutputs::out, 2.0},
    {"grad_query", &AttentionOutputs::grad_query, 3.0},
    {"grad_key", &AttentionOutputs::grad_key, 3.0},
    {"grad_value", &AttentionOutputs::grad_value, 3.0},
    {"grad_relative", &AttentionOutputs::grad_relative, 3.0},
    {"grad_content_bias", &AttentionOutputs::grad_content_bias, 3.0},
    {"grad_position_bias", &AttentionOutputs::grad_position_bias, 3.0},
};

/// Where the oracle has exactly 0 because nothing is visible, the backend must have it too.
inline void expect_exact_zeros(const Values& actual, const Values& absolute_sums,
                               const std::string& what) {
  for (size_t i = 0; i < actual.size(); ++i) {
    if (absolute_sums[i] == 0.0) {
      ASSERT_EQ(actual[i], 0.0) << what << " at " << i;
    }
  }
}

/// T: the type in which the backend computes.
template <typename T>
void expect_attention_parity(AttentionCase problem, const AttentionBackend& backend) {
  SCOPED_TRACE(problem.name + " on " + backend.name);
  problem.fill(7, round_to<T>);
  const AttentionOutputs actual = backend.run(problem);
  AttentionOracle oracle(problem, [](double value) { return value; });
  const AttentionOutputs exact = oracle.run();
  const AttentionOutputs plain = AttentionOracle(problem, round_to<T>).run();
  // Sums of width, keys, rows and items follow one another; the scores' error enters twice.
  const int64_t terms =
      2 * problem.width + problem.keys + problem.rows() * problem.batch * problem.chunks();
  const double relative_error =
      float_bound(terms, 1.0) + 2.0 * float_bound(2 * problem.width, oracle.largest_score());
  for (const NamedOutput& output : kAttentionOutputs) {
    const Values& values = actual.*output.values;
    const Values& absolute = oracle.absolute_sums().*output.values;
    expect_exact_zeros(values, absolute, output.name);
    const double float_error = relative_error * largest_absolute(absolute);
    if (sizeof(T) == 4) {
      EXPECT_LE(largest_difference(values, exact.*output.values), float_error) << output.name;
    } else {
      expect_within_plain_error(values, plain.*output.values, exact.*output.values,
                                output.plain_factor, float_error, output.name);
    }
  }
}

}  // namespace retro::testing
