#include "shape_check.h"

#include <c10/util/StringUtil.h>

#include "retro/core/error.h"

namespace retro {

namespace {

std::string join(at::IntArrayRef shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + (shape[i] == kAnyExtent ? "any" : std::to_string(shape[i]));
  }
  return text + "]";
}

bool fits(at::IntArrayRef actual, at::IntArrayRef expected) {
  if (actual.size() != expected.size()) return false;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (expected[i] != kAnyExtent && actual[i] != expected[i]) return false;
  }
  return true;
}

}  // namespace

std::string shape_of(const at::Tensor& tensor) {
  return tensor.defined() ? join(tensor.sizes()) : "undefined";
}

void check_shape(const at::Tensor& tensor, const char* name, std::initializer_list<int64_t> shape) {
  const at::IntArrayRef expected(shape.begin(), shape.size());
  RETRO_CHECK(tensor.defined() && fits(tensor.sizes(), expected), "{}: expected shape {}, got {}",
              name, join(expected), shape_of(tensor));
}

void check_real(const at::Tensor& tensor, const char* name) {
  const bool is_cpu = tensor.is_cpu();
  RETRO_CHECK(tensor.scalar_type() == at::kFloat ||
                  tensor.scalar_type() == (is_cpu ? at::kDouble : at::kBFloat16),
              "{}: expected float32 or {}, got {}", name, is_cpu ? "float64" : "bfloat16",
              c10::toString(tensor.scalar_type()));
}

void check_like(const at::Tensor& tensor, const char* name, const at::Tensor& like) {
  check_type(tensor, name, like.scalar_type());
  check_device_like(tensor, name, like);
}

void check_parameter(const at::Tensor& tensor, const char* name, const at::Tensor& like) {
  check_type(tensor, name, like.scalar_type() == at::kBFloat16 ? at::kFloat : like.scalar_type());
  check_device_like(tensor, name, like);
}

void check_device_like(const at::Tensor& tensor, const char* name, const at::Tensor& like) {
  RETRO_CHECK(tensor.device() == like.device(), "{}: expected device {}, got {}", name,
              like.device().str(), tensor.device().str());
}

void check_type(const at::Tensor& tensor, const char* name, at::ScalarType type) {
  RETRO_CHECK(tensor.scalar_type() == type, "{}: expected type {}, got {}", name,
              c10::toString(type), c10::toString(tensor.scalar_type()));
}

void check_device(const char* operation, const at::Tensor& tensor) {
  RETRO_CHECK(tensor.is_cpu() || tensor.is_cuda(),
              "{}: no implementation for device {}, expected cpu or cuda", operation,
              tensor.device().str());
}

}  // namespace retro
