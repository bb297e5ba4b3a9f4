// How keys lie on disk, row-major: float32, float16, or int8 with a scale a row.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "retro/core/array_file.h"

namespace retro {

/// "float32", "float16" or "int8"; anything else throws Error.
ArrayType key_type(const std::string& key_storage);
/// Values a row has in its file: the features, for int8 also the bytes of the scale.
uint64_t key_columns(ArrayType type, int64_t key_width);
/// Appends whole rows, rounded to the file's type. Throws Error for a value that is not finite or
/// too large for the type.
void append_keys(std::span<const float> keys, int64_t key_width, ArrayType type,
                 ArrayFileWriter& file);

/// Widens whole rows from row number `first_row` on. Exact.
void read_keys(const ArrayFile& file, int64_t first_row, int64_t key_width, std::span<float> keys);

}  // namespace retro
