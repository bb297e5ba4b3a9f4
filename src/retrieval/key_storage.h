// How keys lie on disk: float32 or float16, row-major.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "retro/core/array_file.h"

namespace retro {

/// "float32" or "float16"; anything else throws Error.
ArrayType key_type(const std::string& key_storage);

/// Appends the rows, rounded to the file's type. Throws Error for a value that is not finite or too
/// large for float16.
void append_keys(std::span<const float> keys, ArrayType type, ArrayFileWriter& file);

/// Widens keys.size() stored values from value number `first` on. Exact.
void read_keys(const ArrayFile& file, uint64_t first, std::span<float> keys);

}  // namespace retro
