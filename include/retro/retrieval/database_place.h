// Where a database and its index lie.
#pragma once

#include <filesystem>

namespace retro {

struct DatabasePlace {
  std::filesystem::path database;
  std::filesystem::path index;
};

}  // namespace retro
