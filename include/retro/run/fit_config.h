// The `fit` section of a run: which trained decoder learns to read neighbours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "retro/model/model_config.h"

namespace retro {

/// METHOD section 5.
struct FitConfig {
  std::string base;                        ///< directory; empty: the run trains from scratch
  std::string freeze = "base";             ///< base | none
  std::string base_precision = "float32";  ///< float32 | bfloat16 | q8_0, in memory
  bool cache_frozen = false;
  std::vector<int64_t> cca_layers;
  EncoderConfig encoder;
  bool share_embeddings = true;
  void visit_fields(FieldVisitor& visit);

  bool is_enabled() const { return !base.empty(); }
  bool is_frozen() const { return freeze == "base"; }
};

/// Where a base lies.
struct BaseFiles {
  std::filesystem::path weights;
  std::filesystem::path tokenizer;
};

/// `base` is what `retro import` wrote, a checkpoint directory, or the directory of a run whose
/// baseline is taken. Throws Error naming what is missing.
BaseFiles find_base(const std::filesystem::path& base);

/// The shape of the fitted model: the base's decoder, `fit`'s cross-attention and encoder, the rest
/// from `model`. Throws Error for a key of `model` that would be ignored: neither its default nor
/// what the base or `fit` makes of it.
ModelConfig fitted_model_config(const FitConfig& fit, const ModelConfig& model);
/// `model` as it was before fitted_model_config: keys that the base or `fit` decides have their
/// defaults.
ModelConfig unfitted_model_config(const ModelConfig& model);

}  // namespace retro
