// RETRO-fitting: a trained decoder gets an encoder and cross-attention (METHOD section 5).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "retro/model/retro_model.h"

namespace retro {

/// Every third layer from the sixth, counted from 1; 0-based here. Empty below six layers.
std::vector<int64_t> default_retrofit_layers(int64_t layers);

/// The decoder of `base` with the cross-attention, encoder and chunks of `wanted`: shape, blocks,
/// vocabulary, tied output and attend_across_documents are the base's, everything else `wanted`'s.
ModelConfig retrofit_config(const ModelConfig& base, const ModelConfig& wanted);

struct RetrofitOptions {
  uint64_t seed = 0;      ///< of the new weights
  bool is_frozen = true;  ///< METHOD section 5; false: everything is trained
  std::string base_hash;  ///< empty: the file's own
};

/// The base's weights, and new ones drawn as for a fresh model, but `cross_attention.output` of the
/// decoder's layers is 0: step 0 equals the base. `config` as retrofit_config gives it. Throws
/// Error for a base of another shape.
RetroModel retrofit(const std::filesystem::path& base_weights, const ModelConfig& config,
                    const RetrofitOptions& options);

/// A fitted model that needs no base: on the CPU, every weight its own and float32, also where
/// `fitted` keeps the base as blocks.
RetroModel without_base(const RetroModel& fitted);

}  // namespace retro
