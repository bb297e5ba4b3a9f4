// Configuration: nested structs with defaults, described once by `visit_fields`.
// The same description parses, prints, documents and serialises.
//
//   struct ScheduleConfig {
//     double peak = 1e-3;
//     int64_t warmup_steps = 750;
//     void visit_fields(FieldVisitor& visit) {
//       visit("peak", peak, "highest learning rate");
//       visit("warmup_steps", warmup_steps, "optimizer steps of linear rise");
//     }
//   };
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace retro {

class FieldVisitor;

template <class T>
concept ConfigStruct = requires(T config, FieldVisitor& visitor) {
  config.visit_fields(visitor);
};

/// Base of the parser, the printer and the help writer.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;

  virtual void operator()(std::string_view name, bool& value, std::string_view help) = 0;
  virtual void operator()(std::string_view name, int64_t& value, std::string_view help) = 0;
  virtual void operator()(std::string_view name, double& value, std::string_view help) = 0;
  virtual void operator()(std::string_view name, std::string& value, std::string_view help) = 0;
  virtual void operator()(std::string_view name, std::vector<int64_t>& value,
                          std::string_view help) = 0;
  virtual void operator()(std::string_view name, std::vector<double>& value,
                          std::string_view help) = 0;
  virtual void operator()(std::string_view name, std::vector<std::string>& value,
                          std::string_view help) = 0;
  virtual void operator()(std::string_view name, std::map<std::string, double>& value,
                          std::string_view help) = 0;
  /// A string out of a fixed list ("float32", "bfloat16", "auto").
  virtual void choice(std::string_view name, std::string& value,
                      const std::vector<std::string>& choices, std::string_view help) = 0;

  /// A nested struct.
  template <ConfigStruct T>
  void operator()(std::string_view name, T& nested, std::string_view help) {
    if (begin_struct(name, help)) {
      nested.visit_fields(*this);
      end_struct();
    }
  }
  /// A list of structs (corpus sources).
  template <ConfigStruct T>
  void operator()(std::string_view name, std::vector<T>& list, std::string_view help) {
    const int64_t parsed = begin_list(name, static_cast<int64_t>(list.size()), help);
    if (parsed < 0) return;
    if (replaces_lists()) list.assign(static_cast<size_t>(parsed), T{});
    T defaults{};
    for (int64_t i = 0; i < std::max<int64_t>(parsed, documents_element() ? 1 : 0); ++i) {
      begin_element(i);
      (i < parsed ? list[static_cast<size_t>(i)] : defaults).visit_fields(*this);
      end_element();
    }
    end_list();
  }

 protected:
  /// False: skip the fields (absent in the input).
  virtual bool begin_struct(std::string_view name, std::string_view help) = 0;
  virtual void end_struct() = 0;
  /// Returns the number of elements after parsing (the current one for printers), or -1 to leave
  /// the list alone.
  virtual int64_t begin_list(std::string_view name, int64_t current, std::string_view help) = 0;
  virtual void begin_element(int64_t index) = 0;
  virtual void end_element() = 0;
  virtual void end_list() = 0;
  /// True for parsers: a list in the input starts from default elements, not from the list's own
  /// default.
  virtual bool replaces_lists() const { return false; }
  /// True for help: one default element is described even when the list is empty.
  virtual bool documents_element() const { return false; }
};

}  // namespace retro
