// Checkpoints in the Hugging Face layout: a directory of config.json and safetensors.
#pragma once

#include <filesystem>

#include "retro/model/retro_model.h"

namespace retro {

/// Llama-family and GPT-2 decoders, in one file or in shards with model.safetensors.index.json. The
/// model is a baseline. Throws Error naming an architecture, option, tensor, type or shard that is
/// not supported, missing or superfluous.
RetroModel import_hugging_face(const std::filesystem::path& directory);

/// Writes config.json and model.safetensors (float32) of the decoder into an existing directory;
/// encoder and cross-attention, which no such architecture has, are left out. Throws Error for a
/// decoder that no architecture can express.
void export_hugging_face(const RetroModel& model, const std::filesystem::path& directory);

}  // namespace retro
