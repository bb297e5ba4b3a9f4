#include "retro/run/fit_config.h"

#include "retro/core/error.h"
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

void check_decoder_key(const char* key, int64_t given, int64_t standard, int64_t base) {
  RETRO_CHECK(given == standard || given == base,
              "model.{} is {}, but the base in fit.base has {}: leave it out", key, given, base);
}

void check_decoder_keys(const ModelConfig& given, const ModelConfig& base) {
  const ModelConfig standard;
  check_decoder_key("width", given.width, standard.width, base.width);
  check_decoder_key("layers", given.layers, standard.layers, base.layers);
  check_decoder_key("heads", given.heads, standard.heads, base.heads);
  check_decoder_key("head_width", given.head_width, standard.head_width, base.head_width);
  check_decoder_key("feed_forward", given.feed_forward, standard.feed_forward, base.feed_forward);
  check_decoder_key("vocabulary", given.vocabulary, standard.vocabulary, base.vocabulary);
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
  check_decoder_keys(model, base);
  ModelConfig wanted = model;
  wanted.encoder = fit.encoder;
  wanted.share_embeddings = fit.share_embeddings;
  wanted.cca_layers = fit.cca_layers;
  if (wanted.cca_layers.empty()) wanted.cca_layers = default_retrofit_layers(base.layers);
  RETRO_CHECK(!wanted.cca_layers.empty(),
              "fit.cca_layers is empty and the base has {} layers, fewer than six: name the layers "
              "that get cross-attention",
              base.layers);
  return retrofit_config(base, wanted);
}

}  // namespace retro
