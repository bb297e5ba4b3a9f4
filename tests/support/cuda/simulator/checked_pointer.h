// What `T*` is in a kernel's simulated source: a pointer whose every access is checked.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simulator/error.h"
#include "simulator/shadow.h"

namespace retro::simulator {

template <typename T>
class CheckedPointer;

/// An element that can be assigned to.
template <typename T>
class CheckedReference {
 public:
  explicit CheckedReference(CheckedPointer<T> pointer) : pointer_(pointer) {}
  operator T() const { return pointer_.template load<T>(); }  // NOLINT: stands for a T&
  CheckedReference& operator=(T value) {
    pointer_.store(value);
    return *this;
  }
  CheckedReference& operator=(const CheckedReference& other) { return *this = T(other); }
  CheckedReference& operator+=(T value) { return *this = static_cast<T>(T(*this) + value); }

 private:
  CheckedPointer<T> pointer_;
};

template <typename T>
class CheckedPointer {
 public:
  using Value = std::remove_const_t<T>;

  CheckedPointer() = default;
  CheckedPointer(T* data, Region* region) : data_(data), region_(region) {}
  CheckedPointer(std::nullptr_t) {}                                      // NOLINT: stands for a T*
  operator CheckedPointer<const T>() const { return {data_, region_}; }  // NOLINT

  explicit operator bool() const { return data_ != nullptr; }
  bool operator!=(std::nullptr_t) const { return data_ != nullptr; }
  CheckedPointer operator+(int64_t offset) const { return {data_ + offset, region_}; }
  CheckedPointer operator-(int64_t offset) const { return {data_ - offset, region_}; }
  CheckedPointer& operator+=(int64_t offset) {
    data_ += offset;
    return *this;
  }
  auto operator[](int64_t index) const {
    if constexpr (std::is_const_v<T>) {
      return (*this + index).template load<Value>();
    } else {
      return CheckedReference<T>(*this + index);
    }
  }
  auto operator*() const { return (*this)[0]; }

  template <typename V>
  V load() const {
    check(sizeof(V), AccessKind::kRead);
    V value;
    std::memcpy(static_cast<void*>(&value), data_, sizeof(V));
    return value;
  }
  template <typename V>
  void store(const V& value) const {
    check(sizeof(V), AccessKind::kWrite);
    std::memcpy(static_cast<void*>(const_cast<Value*>(data_)), &value, sizeof(V));
  }
  void check(size_t bytes, AccessKind kind) const {
    if (region_ == nullptr) throw SimulatorError("access through a null pointer");
    region_->check(data_, bytes, kind);
  }
  T* raw() const { return data_; }
  Region* region() const { return region_; }

 private:
  T* data_ = nullptr;
  Region* region_ = nullptr;
};

}  // namespace retro::simulator
