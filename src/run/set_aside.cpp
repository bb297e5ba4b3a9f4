#include "set_aside.h"

#include <algorithm>

#include "retro/core/file_tree.h"

namespace retro {

namespace fs = std::filesystem;

fs::path set_aside_path(const fs::path& output) { return output.string() + ".old"; }

void set_aside(const std::vector<fs::path>& outputs) {
  for (const fs::path& output : outputs) {
    remove_tree(set_aside_path(output));
    rename_path(output, set_aside_path(output));
  }
}

bool is_set_aside(const std::vector<fs::path>& outputs) {
  return !outputs.empty() && std::ranges::all_of(outputs, [](const fs::path& output) {
    return fs::exists(set_aside_path(output));
  });
}

void put_back(const std::vector<fs::path>& outputs) {
  for (const fs::path& output : outputs) {
    if (!fs::exists(set_aside_path(output))) continue;
    remove_tree(output);
    rename_path(set_aside_path(output), output);
  }
}

void settle_finished(const std::vector<fs::path>& outputs) {
  for (const fs::path& output : outputs) {
    const fs::path old = set_aside_path(output);
    if (!fs::exists(old)) continue;
    fs::exists(output) ? remove_tree(old) : rename_path(old, output);
  }
}

bool hold_anything(const std::vector<fs::path>& outputs) {
  return std::ranges::any_of(outputs, [](const fs::path& output) {
    if (!fs::exists(output)) return false;
    return fs::is_directory(output) ? tree_size_bytes(output) > 0 : fs::file_size(output) > 0;
  });
}

}  // namespace retro
