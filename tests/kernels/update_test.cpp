// AdamW and the gather of embeddings: kernels on the test's device against float64 loops.
#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "attention_case.h"
#include "bfloat16_values.h"
#include "kernels/adamw.h"
#include "kernels/embedding.h"
#include "parity.h"
#include "test_device.h"

namespace retro::testing {
namespace {

struct Parameter {
  explicit Parameter(int64_t size, std::mt19937_64& random)
      : values(random_values(size, 1.0, random, round_to<float>)),
        gradients(random_values(size, 1.0, random, round_to<float>)),
        averages(random_values(size, 0.1, random, round_to<float>)),
        squares(random_values(size, 0.1, random, [](double x) { return x * x; })),
        value("value", converted<float>(values), false),
        gradient("gradient", converted<float>(gradients)),
        average("exp_avg", converted<float>(averages), false),
        square("exp_avg_sq", converted<float>(squares), false),
        copy("copy", static_cast<size_t>(size)) {}
  Values values, gradients, averages, squares;
  Buffer<float> value, gradient, average, square;
  Buffer<uint16_t> copy;
};

TEST(AdamWKernel, UpdatesEveryParameterInOneLaunch) {
  std::mt19937_64 random(9);
  std::vector<std::unique_ptr<Parameter>> parameters;
  std::vector<kernels::AdamWTensor> tensors;
  std::vector<kernels::AdamWPiece> pieces;
  for (const int64_t size : {1, 255, 4096, 4097, 9000}) {
    parameters.push_back(std::make_unique<Parameter>(size, random));
    Parameter& p = *parameters.back();
    const bool is_gain = size == 255;
    for (int64_t first = 0; first < size; first += kernels::kAdamWPieceElements) {
      pieces.push_back({static_cast<int64_t>(tensors.size()), first});
    }
    tensors.push_back({p.value.data(), p.gradient.data(), p.average.data(), p.square.data(),
                       is_gain ? nullptr : p.copy.data(), size, is_gain ? 1.0f : 0.999f});
  }
  Buffer<kernels::AdamWTensor> tensor_table("tensors", tensors);
  Buffer<kernels::AdamWPiece> piece_table("pieces", pieces);
  Buffer<float> scale("scale", std::vector<float>{0.5f});
  kernels::AdamWParams params;
  params.tensors = tensor_table.data();
  params.pieces = piece_table.data();
  params.num_pieces = static_cast<int64_t>(pieces.size());
  params.gradient_scale = scale.data();
  params.step_size = 0.01f;
  params.root_scale = 1.25f;
  launch_adamw(params, nullptr);
  for (size_t t = 0; t < tensors.size(); ++t) {
    const Parameter& p = *parameters[t];
    Values expected, copies;
    for (size_t i = 0; i < p.values.size(); ++i) {
      const double g = 0.5 * p.gradients[i];
      const double first = 0.9 * p.averages[i] + 0.1 * g;
      const double second = 0.95 * p.squares[i] + 0.05 * g * g;
      expected.push_back(p.values[i] * double{tensors[t].decay} -
                         0.01 * first / (std::sqrt(second) * 1.25 + 1e-8));
    }
    const Values actual = to_doubles(p.value.values());
    EXPECT_LE(largest_difference(actual, expected), float_bound(8, largest_absolute(expected)));
    if (tensors[t].bfloat16_copy == nullptr) continue;
    const std::vector<uint16_t> bits = p.copy.values();
    for (size_t i = 0; i < bits.size(); ++i) {
      EXPECT_EQ(to_double(__nv_bfloat16(__nv_bfloat16_raw{bits[i]})),
                round_to<__nv_bfloat16>(actual[i]));
    }
  }
}

template <typename T>
class EmbeddingParity : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, __nv_bfloat16>;
TYPED_TEST_SUITE(EmbeddingParity, ElementTypes);

/// Tokens sorted by id and cut into pieces: what an operation prepares on its device.
struct SortedTokens {
  std::vector<int64_t> tokens, piece_begins, row_ids, row_begins;
  explicit SortedTokens(const std::vector<int64_t>& ids) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= 0) tokens.push_back(static_cast<int64_t>(i));
    }
    const auto id = [&](int64_t token) { return ids[static_cast<size_t>(token)]; };
    std::stable_sort(tokens.begin(), tokens.end(),
                     [&](int64_t a, int64_t b) { return id(a) < id(b); });
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool is_new = i == 0 || id(tokens[i]) != id(tokens[i - 1]);
      if (is_new) {
        row_ids.push_back(id(tokens[i]));
        row_begins.push_back(static_cast<int64_t>(piece_begins.size()));
      }
      const bool is_full = !is_new && static_cast<int64_t>(i) - piece_begins.back() ==
                                          kernels::kEmbeddingPieceTokens;
      if (is_new || is_full) piece_begins.push_back(static_cast<int64_t>(i));
    }
    row_begins.push_back(static_cast<int64_t>(piece_begins.size()));
    piece_begins.push_back(static_cast<int64_t>(tokens.size()));
  }
};

TYPED_TEST(EmbeddingParity, GathersAndAddsUpInOrder) {
  for (const int64_t width : {1, 33, 264}) {
    std::mt19937_64 random(11);
    const int64_t vocabulary = 50, count = 700;
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < count; ++i) {
      ids.push_back(i % 2 == 0 ? 3 : static_cast<int64_t>(random() % 30) - 1);
    }
    const Values weight = random_values(vocabulary * width, 1.0, random, round_to<TypeParam>);
    const Values grad = random_values(count * width, 1.0, random, round_to<TypeParam>);
    const Values before = random_values(vocabulary * width, 1.0, random, round_to<float>);
    Values expected_out, expected_grad = before;
    for (size_t i = 0; i < ids.size(); ++i) {
      for (size_t d = 0; d < static_cast<size_t>(width); ++d) {
        const auto at = static_cast<size_t>(std::max<int64_t>(ids[i], 0) * width) + d;
        expected_out.push_back(ids[i] < 0 ? 0.0 : weight[at]);
        if (ids[i] >= 0) expected_grad[at] += grad[i * static_cast<size_t>(width) + d];
      }
    }
    Buffer<TypeParam> weights("weight", converted<TypeParam>(weight));
    Buffer<int64_t> id_buffer("ids", ids);
    Buffer<TypeParam> out("out", expected_out.size());
    launch_embedding_forward(
        kernels::EmbeddingForwardParams<TypeParam>{weights.data(), id_buffer.data(), out.data(),
                                                   count, vocabulary, width},
        nullptr);
    EXPECT_EQ(to_doubles(out.values()), expected_out);

    const SortedTokens sorted(ids);
    Buffer<TypeParam> grads("grad", converted<TypeParam>(grad));
    Buffer<int64_t> tokens("tokens", sorted.tokens), piece_begins("pieces", sorted.piece_begins);
    Buffer<int64_t> row_ids("rows", sorted.row_ids), row_begins("begins", sorted.row_begins);
    Buffer<float> partial("partial", (sorted.piece_begins.size() - 1) * static_cast<size_t>(width));
    Buffer<float> grad_weight("grad_weight", converted<float>(before), false);
    launch_embedding_backward(
        kernels::EmbeddingBackwardParams<TypeParam>{
            grads.data(), tokens.data(), piece_begins.data(), row_ids.data(), row_begins.data(),
            partial.data(), grad_weight.data(),
            static_cast<int64_t>(sorted.piece_begins.size()) - 1,
            static_cast<int64_t>(sorted.row_ids.size()), width},
        nullptr);
    EXPECT_LE(largest_difference(to_doubles(grad_weight.values()), expected_grad),
              float_bound(count, 400.0));
  }
}

}  // namespace
}  // namespace retro::testing
