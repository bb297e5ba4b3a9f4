// What a stage made before, kept beside its outputs until the new ones are finished.
#pragma once

#include <filesystem>
#include <vector>

namespace retro {

/// Where an output waits: OUTPUT.old.
std::filesystem::path set_aside_path(const std::filesystem::path& output);

/// Renames every output to its OUTPUT.old.
void set_aside(const std::vector<std::filesystem::path>& outputs);

/// True if every output has its OUTPUT.old.
bool is_set_aside(const std::vector<std::filesystem::path>& outputs);

/// Renames each OUTPUT.old that there is to OUTPUT, in place of what is there.
void put_back(const std::vector<std::filesystem::path>& outputs);

/// For outputs that are finished: puts back one that a kill left under its other name alone,
/// removes OUTPUT.old where both are there.
void settle_finished(const std::vector<std::filesystem::path>& outputs);

/// True if there is a file with something in it.
bool hold_anything(const std::vector<std::filesystem::path>& outputs);

}  // namespace retro
