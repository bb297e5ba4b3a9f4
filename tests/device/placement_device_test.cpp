// What tests on the simulated GPU rest on: things stay on it, and two devices do not mix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "retro/core/error.h"
#include "retro/ops/chunked_cross_attention.h"
#include "retro/ops/device.h"
#include "retro/ops/embedding.h"
#include "retro/ops/linear_cross_entropy.h"
#include "retro/ops/relative_attention.h"

#include "device_test_support.h"

namespace retro::testing {
namespace {

TEST(PlacementDevice, OperationsStayOnIt) {
  const at::Tensor a = torch::arange(6, torch::kFloat).view({2, 3}).to(kDevice);
  const at::Tensor b = (a.t() * 2).slice(0, 1, 3).contiguous();
  EXPECT_TRUE(b.is_cuda());
  EXPECT_TRUE(at::equal(b.cpu(), torch::tensor({{2.0F, 8.0F}, {4.0F, 10.0F}})));
  EXPECT_EQ(a.sum().item<float>(), 15.0F);
  EXPECT_TRUE(at::arange(3, a.options()).is_cuda());
  EXPECT_TRUE(at::equal(at::arange(3, a.options()).cpu(), torch::arange(3, torch::kFloat)));
}

TEST(PlacementDevice, OperandsOfTwoDevicesAreRefused) {
  const at::Tensor on_device = torch::ones({3}).to(kDevice);
  EXPECT_THROW(on_device + torch::ones({3}), std::exception);
  EXPECT_THROW(on_device.index_select(0, torch::zeros({1}, torch::kLong)), std::exception);
  EXPECT_THROW(torch::cat({on_device, torch::ones({3})}), std::exception);
  EXPECT_NO_THROW(on_device + torch::tensor(1.0F));  // a single number may come from the CPU
}

TEST(PlacementDevice, ViewsShareMemory) {
  const at::Tensor whole = torch::zeros({4, 2}).to(kDevice);
  whole.narrow(0, 1, 2).fill_(3.0);
  EXPECT_EQ(whole.sum().item<float>(), 12.0F);
}

TEST(PlacementDevice, GradientsArriveOnIt) {
  const at::Tensor weight = torch::ones({3}).to(kDevice).requires_grad_(true);
  (weight * weight).sum().backward();
  EXPECT_TRUE(weight.grad().is_cuda());
  EXPECT_TRUE(at::equal(weight.grad().cpu(), torch::full({3}, 2.0F)));
}

/// The message of the error that `body` throws.
template <typename Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Kernels would read the host's memory.
TEST(PlacementDevice, MasksIdsAndTargetsElsewhereAreNamed) {
  using ::testing::HasSubstr;
  AttentionOperands attention;
  attention.query_BNHA = torch::zeros({1, 4, 1, 32}).to(kDevice);
  attention.key_BTGA = attention.value_BTGA = attention.query_BNHA;
  attention.key_is_real_BT = torch::ones({1, 4}, torch::kBool);
  EXPECT_THAT(error_of([&] { relative_attention(attention, {}); }),
              HasSubstr("key_is_real_BT: expected device cuda:0, got cpu"));
  attention.key_is_real_BT = at::Tensor();
  attention.query_segment_BN = torch::zeros({1, 4}, torch::kLong).to(kDevice);
  attention.key_segment_BT = attention.query_segment_BN.cpu();
  EXPECT_THAT(error_of([&] { relative_attention(attention, {}); }),
              HasSubstr("key_segment_BT: expected device"));
  ChunkedCrossAttentionOperands cross;
  cross.query_BNHA = attention.query_BNHA;
  cross.key_BLTGA = cross.value_BLTGA = torch::zeros({1, 2, 4, 1, 32}).to(kDevice);
  cross.row_is_active_BN = torch::ones({1, 4}, torch::kBool);
  EXPECT_THAT(error_of([&] { chunked_cross_attention(cross, 2, 4, -2); }),
              HasSubstr("row_is_active_BN: expected device"));
  const at::Tensor weight = torch::zeros({7, 32}).to(kDevice);
  const at::Tensor ids = torch::zeros({4}, torch::kLong);
  EXPECT_THAT(error_of([&] { embed_tokens(weight, ids); }), HasSubstr("ids: expected device"));
  const at::Tensor hidden = torch::zeros({4, 32}).to(kDevice);
  EXPECT_THAT(error_of([&] {
                linear_cross_entropy(hidden, weight, ids, torch::ones({4}).to(kDevice),
                                     Precision::kFloat32);
              }),
              HasSubstr("target_T: expected device"));
  EXPECT_THAT(error_of([&] {
                token_losses(hidden, weight, ids.to(kDevice), torch::ones({4}, torch::kBool),
                             Precision::kFloat32);
              }),
              HasSubstr("mask_T: expected device"));
}

TEST(PlacementDevice, LibTorchsProductsSumInFloat32) {
  at::globalContext().setAllowTF32CuBLAS(true);
  at::globalContext().setAllowBF16ReductionCuBLAS(true);
  resolve_device("cuda");
  EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
  EXPECT_NE(at::globalContext().allowBF16ReductionCuBLAS(),
            at::CuBLASReductionOption::AllowReducedPrecisionWithSplitK);
}

TEST(PlacementDevice, IsWhatTheConfigurationNames) {
  EXPECT_EQ(resolve_device("cuda"), kDevice);
  EXPECT_EQ(resolve_device("cpu"), at::Device(at::kCPU));
  EXPECT_THROW(resolve_device("tpu"), Error);
  EXPECT_EQ(resolve_precision("auto", kDevice), Precision::kBfloat16);
  EXPECT_EQ(resolve_precision("float32", kDevice), Precision::kFloat32);
}

}  // namespace
}  // namespace retro::testing
