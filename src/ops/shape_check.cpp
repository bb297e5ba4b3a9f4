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
  RETRO_CHECK(tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble,
              "{}: expected float32 or float64, got {}", name, c10::toString(tensor.scalar_type()));
}

void check_like(const at::Tensor& tensor, const char* name, const at::Tensor& like) {
  check_type(tensor, name, like.scalar_type());
  RETRO_CHECK(tensor.device() == like.device(), "{}: expected device {}, got {}", name,
              like.device().str(), tensor.device().str());
}

void check_type(const at::Tensor& tensor, const char* name, at::ScalarType type) {
  RETRO_CHECK(tensor.scalar_type() == type, "{}: expected type {}, got {}", name,
              c10::toString(type), c10::toString(tensor.scalar_type()));
}

void throw_unsupported_device(const char* operation, const at::Tensor& tensor) {
  RETRO_CHECK(false, "{}: no implementation for device {} in this build; use the CPU", operation,
              tensor.device().str());
  __builtin_unreachable();
}

}  // namespace retro
