// What a kernel did wrong.
#pragma once

#include <stdexcept>
#include <string>

namespace retro::simulator {

class SimulatorError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace retro::simulator
