#include "support/device/memory.h"

#include <cstring>
#include <new>

#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>

#include "simulator/global_memory.h"

namespace retro::simulated_device {

namespace {

/// What threads of a kernel share nothing of: two bytes, as in the parity tests. No kernel writes
/// single bytes.
constexpr size_t kUnitBytes = 2;
constexpr std::align_val_t kAlignment{256};

void add_region(const std::string& name, const void* data, size_t bytes, bool is_initialised) {
  simulator::add_region(name, simulator::Region::Kind::kGlobal, data, bytes, kUnitBytes,
                        is_initialised);
}

void free_block(void* data) {
  simulator::remove_region(data);
  ::operator delete[](static_cast<std::byte*>(data), kAlignment);
}

/// Fresh memory counts as uninitialised and holds 0xcd bytes.
class DeviceAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, kDevice};
    auto* const data = new (kAlignment) std::byte[bytes];
    std::memset(data, 0xcd, bytes);
    add_region("a tensor", data, bytes, false);
    return {data, data, &free_block, kDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

void release_host(void* holder) {
  auto* const host = static_cast<at::Tensor*>(holder);
  simulator::remove_region(host->storage().data());
  delete host;
}

}  // namespace

c10::Allocator* allocator() {
  static DeviceAllocator instance;
  return &instance;
}

at::Tensor to_device(const at::Tensor& result, const std::string& name) {
  // Two results that share memory would be one region under two owners.
  const at::Tensor host = result.storage().use_count() > 1 ? result.clone() : result;
  void* const data = host.storage().mutable_data();
  const size_t bytes = host.storage().nbytes();
  c10::DataPtr memory(nullptr, kDevice);
  if (bytes > 0) {
    add_region(name, data, bytes, true);
    memory = c10::DataPtr(data, new at::Tensor(host), &release_host, kDevice);
  }
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                       std::move(memory), allocator(), false);
  at::Tensor device = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(std::move(storage)), c10::DispatchKeySet(c10::DispatchKey::CUDA), host.dtype());
  device.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides(),
                                                      host.storage_offset());
  return device;
}

at::Tensor to_host(const at::Tensor& device) {
  const auto options = at::TensorOptions().dtype(device.dtype()).device(at::kCPU);
  if (device.numel() == 0) return at::empty_strided(device.sizes(), device.strides(), options);
  return at::from_blob(const_cast<void*>(device.const_data_ptr()), device.sizes(), device.strides(),
                       options);
}

void mark_written(const at::Tensor& device) {
  if (device.numel() == 0) return;
  int64_t last = 0;
  for (int64_t d = 0; d < device.dim(); ++d) last += (device.size(d) - 1) * device.stride(d);
  simulator::mark_written(device.const_data_ptr(),
                          static_cast<size_t>(last + 1) * device.element_size());
}

}  // namespace retro::simulated_device
