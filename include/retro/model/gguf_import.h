// Llama-family checkpoints in GGUF files.
#pragma once

#include <filesystem>

#include "retro/model/retro_model.h"

namespace retro {

/// Architecture `llama`; quantised tensors become float32, and the rows of queries and keys go back
/// to the order of halves. The model is a baseline. Throws Error naming an architecture, key,
/// tensor or type that is not supported, missing or superfluous, and for sizes far larger than the
/// tensors before memory is taken. Unknown `llama.` keys are named in a warning.
RetroModel import_gguf(const std::filesystem::path& file);

}  // namespace retro
