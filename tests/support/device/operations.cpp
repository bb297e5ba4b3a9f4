// LibTorch's device "cuda" in a process that has no CUDA: its operations run on the host, over the
// same memory, and refuse operands of different devices.
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/stack.h>
#include <ATen/ops/_reshape_alias_cpu_dispatch.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/view_cpu_dispatch.h>
#include <torch/library.h>

#include "support/device/memory.h"

namespace retro::simulated_device {

namespace {

/// One call of an operation on the host in the place of the device.
class HostCall {
 public:
  HostCall(const c10::OperatorHandle& operation, torch::jit::Stack& stack)
      : operation_(operation), stack_(stack), name_(operation.schema().name()) {}

  void run() {
    const auto& arguments = operation_.schema().arguments();
    const size_t first = stack_.size() - arguments.size();
    for (size_t i = 0; i < arguments.size(); ++i) move_argument(stack_[first + i], arguments[i]);
    const at::AutoDispatchBelowAutograd below_autograd;
    operation_.callBoxed(&stack_);
    for (const Moved& moved : moved_) finish(moved);
    const size_t results = operation_.schema().returns().size();
    for (size_t i = stack_.size() - results; i < stack_.size(); ++i) move_result(stack_[i]);
  }

 private:
  struct Moved {
    at::Tensor device;
    at::Tensor host;
    bool is_written = false;
  };

  /// As on a real device: everything is there, single numbers aside.
  at::Tensor moved(const at::Tensor& tensor, const c10::Argument& argument) {
    if (!tensor.defined()) return tensor;
    if (tensor.is_cpu()) {
      if (tensor.dim() == 0) return tensor;
      throw std::runtime_error(name_ + ": `" + argument.name() +
                               "` is on the CPU, the operation on the GPU");
    }
    const bool is_written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    for (const Moved& known : moved_) {
      if (known.device.is_same(tensor)) return known.host;
    }
    moved_.push_back({tensor, to_host(tensor), is_written});
    return moved_.back().host;
  }

  void move_argument(c10::IValue& value, const c10::Argument& argument) {
    if (value.isTensor()) {
      value = moved(value.toTensor(), argument);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector())
        list.push_back(moved(tensor, argument));
      value = list;
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
        list.push_back(tensor ? std::optional(moved(*tensor, argument)) : std::nullopt);
      }
      value = list;
    } else if (value.isDevice() && value.toDevice().is_cuda()) {
      value = c10::Device(at::kCPU);
    }
  }

  /// An output argument that was resized gets the new memory.
  void finish(const Moved& moved) const {
    if (!moved.is_written) return;
    if (moved.host.sizes() != moved.device.sizes()) {
      const at::Tensor grown = to_device(moved.host.clone(), name_);
      moved.device.unsafeGetTensorImpl()->shallow_copy_from(grown.getIntrusivePtr());
    }
    mark_written(moved.device);
  }

  at::Tensor result(const at::Tensor& tensor) const {
    if (!tensor.defined()) return tensor;
    for (const Moved& moved : moved_) {
      if (moved.host.is_same(tensor)) return moved.device;
    }
    return to_device(tensor, "a result of " + name_);
  }

  void move_result(c10::IValue& value) const {
    if (value.isTensor()) {
      at::Tensor tensor = std::move(value).toTensor();
      value = c10::IValue();
      value = result(std::move(tensor));
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(result(tensor));
      value = list;
    }
  }

  const c10::OperatorHandle& operation_;
  torch::jit::Stack& stack_;
  std::string name_;
  std::vector<Moved> moved_;
};

void run_on_host(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  HostCall(operation, *stack).run();
}

at::Tensor& copy(at::Tensor& self, const at::Tensor& from, bool /*non_blocking*/) {
  const auto host = [](const at::Tensor& tensor) {
    return tensor.is_cpu() ? tensor : to_host(tensor);
  };
  const at::AutoDispatchBelowAutograd below_autograd;
  host(self).copy_(host(from));
  if (!self.is_cpu()) mark_written(self);
  return self;
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> type,
                 std::optional<at::Layout> /*layout*/, std::optional<at::Device> /*device*/,
                 std::optional<bool> /*pin_memory*/, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, allocator(), c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                   c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride,
                         std::optional<at::ScalarType> type, std::optional<at::Layout> /*layout*/,
                         std::optional<at::Device> /*device*/, std::optional<bool> /*pinned*/) {
  return at::detail::empty_strided_generic(size, stride, allocator(),
                                           c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                           c10::dtype_or_default(type));
}

at::Tensor view(const at::Tensor& self, at::IntArrayRef size) { return at::cpu::view(self, size); }

at::Tensor as_strided(const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef stride,
                      std::optional<int64_t> offset) {
  return at::cpu::as_strided(self, size, stride, offset);
}

at::Tensor reshape_alias(const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef stride) {
  return at::cpu::_reshape_alias(self, size, stride);
}

}  // namespace

}  // namespace retro::simulated_device

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(
      torch::CppFunction::makeFromBoxedFunction<&retro::simulated_device::run_on_host>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  using namespace retro::simulated_device;
  library.impl("copy_", TORCH_FN(copy));
  library.impl("empty.memory_format", TORCH_FN(empty));
  library.impl("empty_strided", TORCH_FN(empty_strided));
  library.impl("view", TORCH_FN(view));
  library.impl("as_strided", TORCH_FN(as_strided));
  library.impl("_reshape_alias", TORCH_FN(reshape_alias));
}
