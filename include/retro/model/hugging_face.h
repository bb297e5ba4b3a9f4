// Checkpoints in the Hugging Face layout: a directory of config.json and safetensors.
#pragma once

#include <filesystem>

#include "retro/model/retro_model.h"

namespace retro {

/// Llama-family and GPT-2 decoders, in one file or in shards with model.safetensors.index.json. The
/// model is a baseline. Throws Error naming an architecture, option, tensor, type or shard that is
/// not supported, missing or superfluous, and for a configuration far larger than its tensors
/// before memory is taken. Keys of config.json that are not known are named in a warning.
RetroModel import_hugging_face(const std::filesystem::path& directory);

/// Writes config.json and model.safetensors (float32) of the decoder into an existing directory;
/// encoder and cross-attention, which no such architecture has, are left out. `carried`: what
/// carried_keys gave for the checkpoint that the model comes from; without it there are no tokens
/// of begin and end. `transformers` 4 and 5 read the same model. Throws Error for a decoder that no
/// architecture can express.
void export_hugging_face(const RetroModel& model, const std::filesystem::path& directory,
                         const std::string& carried = {});

}  // namespace retro
