// Embedding rows on the device: pieces of one id each, and gradients that do not depend on order.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "retro/ops/embedding.h"

#include "device_test_support.h"
#include "ops/cuda/embedding.h"

namespace retro::testing {
namespace {

std::vector<int64_t> values(const at::Tensor& tensor) {
  const at::Tensor host = tensor.cpu().contiguous();
  const int64_t* data = host.const_data_ptr<int64_t>();
  return {data, data + host.numel()};
}

TEST(EmbeddingDevice, PiecesHoldOneIdEach) {
  // Id 2 at 1, 3, 4, 6; id 5 at 0; -1 and ids that do not exist are left out.
  const at::Tensor ids = torch::tensor({5, 2, -1, 2, 2, 9, 2}, torch::kLong).to(kDevice);
  const cuda::EmbeddingPieces pieces = cuda::cut_pieces(ids, 9, 3);
  EXPECT_EQ(values(pieces.sorted_tokens), (std::vector<int64_t>{1, 3, 4, 6, 0}));
  EXPECT_EQ(values(pieces.row_ids), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(values(pieces.piece_begins), (std::vector<int64_t>{0, 3, 4, 5}));
  EXPECT_EQ(values(pieces.row_begins), (std::vector<int64_t>{0, 2, 3}));
}

TEST(EmbeddingDevice, NoTokenIsNoPiece) {
  const cuda::EmbeddingPieces pieces =
      cuda::cut_pieces(torch::full({4}, -1, torch::kLong).to(kDevice), 9, 3);
  EXPECT_EQ(values(pieces.piece_begins), (std::vector<int64_t>{0}));
  EXPECT_EQ(pieces.row_ids.numel(), 0);
}

TEST(EmbeddingDevice, GathersAndScatters) {
  torch::manual_seed(1);
  at::Tensor ids = torch::randint(40, {4, 150}, torch::kLong);
  ids.slice(1, 0, 90).fill_(7);  // more of one id than a piece holds
  ids.slice(1, 90, 95).fill_(-1);
  expect_same_on_device({{"weight", torch::randn({40, 12}), true}}, [&](Precision) {
    return
        [&](const std::vector<at::Tensor>& t) { return embed_tokens(t[0], ids.to(t[0].device())); };
  });
}

TEST(EmbeddingDevice, GradientsOfBfloat16Activations) {
  torch::manual_seed(2);
  const at::Tensor ids = torch::randint(10, {300}, torch::kLong);
  expect_same_on_device({{"weight", torch::randn({10, 16}), true}}, [&](Precision precision) {
    return [&, precision](const std::vector<at::Tensor>& t) {
      return as_activations(embed_tokens(t[0], ids.to(t[0].device())), precision);
    };
  });
}

TEST(EmbeddingDevice, AnUnknownIdIsLikePadding) {
  const at::Tensor weight = torch::ones({3, 4}).to(kDevice).requires_grad_(true);
  const at::Tensor out = embed_tokens(weight, torch::tensor({1, 3, -7}, torch::kLong).to(kDevice));
  EXPECT_EQ(out.sum().item<float>(), 4.0F);
  out.sum().backward();
  EXPECT_EQ(weight.grad().sum().item<float>(), 4.0F);
}

}  // namespace
}  // namespace retro::testing
