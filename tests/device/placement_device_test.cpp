// What tests on the simulated GPU rest on: things stay on it, and two devices do not mix.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "retro/core/error.h"
#include "retro/ops/device.h"

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

TEST(PlacementDevice, IsWhatTheConfigurationNames) {
  EXPECT_EQ(resolve_device("cuda"), kDevice);
  EXPECT_EQ(resolve_device("cpu"), at::Device(at::kCPU));
  EXPECT_THROW(resolve_device("tpu"), Error);
  EXPECT_EQ(resolve_precision("auto", kDevice), Precision::kBfloat16);
  EXPECT_EQ(resolve_precision("float32", kDevice), Precision::kFloat32);
}

}  // namespace
}  // namespace retro::testing
