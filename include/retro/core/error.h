// Errors that a user or a file can cause.
#pragma once

#include <stdexcept>
#include <string>

#include <fmt/core.h>

namespace retro {

/// One line for the person at the terminal: the thing's name, what was expected, what was found,
/// what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace retro

/// Throws retro::Error with a formatted message unless `condition` holds.
/// For what a user or a file can cause; `assert` is for impossible states.
#define RETRO_CHECK(condition, ...)                     \
  do {                                                  \
    if (!(condition)) [[unlikely]] {                    \
      throw ::retro::Error(::fmt::format(__VA_ARGS__)); \
    }                                                   \
  } while (false)
