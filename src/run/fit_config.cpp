#include "retro/run/fit_config.h"

#include <algorithm>
#include <span>

#include "retro/core/error.h"
#include "retro/core/flat_fields.h"
#include "retro/model/retrofit.h"
#include "retro/model/weights.h"
#include "retro/train/checkpoint.h"

namespace retro {

namespace fs = std::filesystem;

void FitConfig::visit_fields(FieldVisitor& visit) {
  visit("base", base,
        "the trained decoder: what `retro import` wrote, or the directory of a run (its baseline); "
        "empty: the run trains from scratch");
  visit.choice("freeze", freeze, {"base", "none"},
               "base: only encoder and cross-attention are trained; none: everything");
  visit.choice(
      "base_precision", base_precision, {"float32", "bfloat16", "q8_0"},
      "how the frozen base's layers are kept in memory: 4 bytes a weight, 2, or about 1 "
      "(blocks of 32 with a scale); with retrieval off the model is the base in that form");
  visit("cache_frozen", cache_frozen,
        "keeps what the frozen layers below the first retro layer compute on disk and packs "
        "every epoch alike; the fit says whether that is cheaper");
  visit("cca_layers", cca_layers,
        "decoder layers (0-based) that get cross-attention; empty: every third from the sixth");
  visit("encoder", encoder, "the encoder of retrieved chunks");
  visit("share_embeddings", share_embeddings, "the encoder reads the base's embedding");
}

namespace {

constexpr const char* kWeights = "model.safetensors";

fs::path find_tokenizer(const fs::path& directory) {
  for (const char* name : {"tokenizer.model", "tokenizer.json", "vocab.json"}) {
    if (!fs::exists(directory / name)) continue;
    // A vocabulary beside its merges is named by the folder.
    return std::string_view(name) == "vocab.json" ? directory : directory / name;
  }
  return {};
}

/// Keys of the `model` section that the base decides, and those that `fit` decides; a name stands
/// for what lies below it too.
constexpr std::string_view kBaseKeys[] = {"vocabulary", "width",      "layers",
                                          "heads",      "head_width", "feed_forward",
                                          "block",      "tie_output", "attend_across_documents"};
constexpr std::string_view kFitKeys[] = {"cca_layers", "encoder", "share_embeddings"};

/// "encoder.layers" -> "encoder".
std::string first_name(const std::string& key) { return key.substr(0, key.find('.')); }

/// A value of `given` that is neither the default nor what is `decided` would be ignored.
/// `message(key, given, decided)` says so.
template <class Message>
void refuse_ignored(const ModelConfig& given, const ModelConfig& decided,
                    std::span<const std::string_view> names, const Message& message) {
  const FlatFields wanted = flat_fields(given), found = flat_fields(decided),
                   defaults = flat_fields(ModelConfig{});
  for (const std::string& key : differing_keys(wanted, found)) {
    if (std::ranges::find(names, first_name(key)) == names.end()) continue;
    if (wanted.at(key) != defaults.at(key))
      throw Error(message(key, wanted.at(key), found.at(key)));
  }
}

void check_base_keys(const ModelConfig& given, const ModelConfig& base) {
  refuse_ignored(given, base, kBaseKeys, [](const auto& key, const auto& value, const auto& other) {
    return fmt::format("model.{} is {}, but the base in fit.base has {}: leave it out", key, value,
                       other);
  });
}

void check_fit_keys(const ModelConfig& given, const ModelConfig& fitted) {
  refuse_ignored(given, fitted, kFitKeys,
                 [](const auto& key, const auto& value, const auto& other) {
                   return fmt::format(
                       "model.{} is {}, but with fit.base it is fit.{} that counts ({}): "
                       "leave model.{} out",
                       key, value, key, other, key);
                 });
}

}  // namespace

BaseFiles find_base(const fs::path& base) {
  RETRO_CHECK(fs::is_directory(base), "fit.base: {} is no directory", base.string());
  if (fs::exists(base / kWeights)) return {base / kWeights, find_tokenizer(base)};
  const auto best = best_checkpoint(base / "training" / "baseline" / "checkpoints");
  RETRO_CHECK(best.has_value(),
              "fit.base: {} holds neither {} (write it with `retro import`) nor a trained baseline "
              "of a run",
              base.string(), kWeights);
  return {best->path / kWeights, find_tokenizer(base)};
}

ModelConfig fitted_model_config(const FitConfig& fit, const ModelConfig& model) {
  const ModelConfig base = read_model_config(find_base(fit.base).weights).resolved();
  check_base_keys(model, base);
  ModelConfig wanted = model;
  wanted.encoder = fit.encoder;
  wanted.share_embeddings = fit.share_embeddings;
  wanted.cca_layers = fit.cca_layers;
  if (wanted.cca_layers.empty()) wanted.cca_layers = default_retrofit_layers(base.layers);
  RETRO_CHECK(!wanted.cca_layers.empty(),
              "fit.cca_layers is empty and the base has {} layers, fewer than six: name the layers "
              "that get cross-attention",
              base.layers);
  const ModelConfig fitted = retrofit_config(base, wanted);
  check_fit_keys(model, fitted);
  return fitted;
}

ModelConfig unfitted_model_config(const ModelConfig& model) {
  ModelConfig asked;
  asked.chunk_length = model.chunk_length;
  asked.init_std = model.init_std;
  asked.dropout = model.dropout;
  asked.cca_positions = model.cca_positions;
  asked.cca_scheme = model.cca_scheme;
  asked.retrieved_part = model.retrieved_part;
  return asked;
}

}  // namespace retro
