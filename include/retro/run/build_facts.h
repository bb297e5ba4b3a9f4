// What this binary is made of.
#pragma once

#include <string>

namespace retro {

/// Version, compiler, libraries and the instruction sets found on this CPU, one fact a line.
std::string build_facts();

}  // namespace retro
