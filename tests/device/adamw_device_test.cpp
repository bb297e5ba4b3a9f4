// The optimizer on the device against the CPU's, through its public class.
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "retro/train/optimizer.h"

#include "device_test_support.h"

namespace retro::testing {
namespace {

/// Two matrices and a gain; the second matrix has no gradient in the first step, so that its bias
/// correction differs.
class Steps {
 public:
  explicit Steps(at::Device device) {
    torch::manual_seed(3);
    for (const auto& [name, size] :
         {std::pair("a.weight", 5000), std::pair("b.weight", 300), std::pair("norm.weight", 70)}) {
      const at::Tensor value = torch::randn({size}).to(device).requires_grad_(true);
      parameters_.push_back({name, value});
    }
    optimizer_ = std::make_unique<AdamW>(parameters_, AdamWConfig{});
  }

  double step(int number) {
    torch::manual_seed(number);
    for (NamedParameter& parameter : parameters_) {
      const at::Tensor gradient = torch::randn({parameter.value.numel()});
      if (number == 0 && parameter.name == "b.weight") continue;
      parameter.value.mutable_grad() = gradient.to(parameter.value.device());
    }
    const double norm = optimizer_->gradient_norm();
    optimizer_->step(1e-2, 1.0 / norm);
    optimizer_->zero_gradients();
    return norm;
  }

  AdamW& optimizer() { return *optimizer_; }
  at::Tensor value(size_t i) const { return parameters_[i].value.detach().cpu(); }

 private:
  std::vector<NamedParameter> parameters_;
  std::unique_ptr<AdamW> optimizer_;
};

TEST(AdamWDevice, TakesTheSameSteps) {
  Steps host(at::kCPU), device(kDevice);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(device.step(i), host.step(i), 1e-4);
  for (size_t i = 0; i < 3; ++i) {
    expect_near(device.value(i), host.value(i), tolerance(Precision::kFloat32), "parameter");
  }
}

TEST(AdamWDevice, StateGoesFromDeviceToHostAndBack) {
  const auto path = std::filesystem::temp_directory_path() / "retro_adamw_device.safetensors";
  Steps device(kDevice), host(at::kCPU), again(kDevice);
  device.step(0);
  device.optimizer().save(path);
  host.step(0);
  host.optimizer().load(path);
  host.optimizer().save(path);
  again.step(0);
  again.optimizer().load(path);
  std::filesystem::remove(path);
  device.step(1);
  again.step(1);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(at::equal(device.value(i), again.value(i)));
}

}  // namespace
}  // namespace retro::testing
