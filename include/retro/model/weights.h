// Model weights in and out of safetensors under METHOD section 3's names.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "retro/model/retro_model.h"

namespace retro {

/// Float32 tensors, names as METHOD section 3; metadata "config" (YAML of the resolved ModelConfig)
/// plus `metadata`. With a frozen base only the new weights, and metadata "base" (its hash).
void save_weights(const RetroModel& model, const std::filesystem::path& path,
                  std::map<std::string, std::string> metadata = {});
/// Every parameter must be present with its shape, and no other tensor; otherwise Error names it.
/// With a frozen base the same holds for the new weights, and the file must name that base.
void load_weights(RetroModel& model, const std::filesystem::path& path);
/// The decoder's own weights from a plain decoder's file, which must hold exactly these; the
/// model's other weights stay as they are. Throws Error for a file with an encoder and
/// cross-attention.
void load_base_weights(RetroModel& model, const std::filesystem::path& path);
/// The file's own "config".
ModelConfig read_model_config(const std::filesystem::path& path);
/// Builds the model from the file's own "config". A file that holds only the new weights of a
/// fitted model is an Error (see retrofit.h).
RetroModel load_model(const std::filesystem::path& path);

}  // namespace retro
