#include "retro/model/model_config.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "retro/core/error.h"

namespace retro {

void EncoderConfig::visit_fields(FieldVisitor& visit) {
  visit("width", width, "d', features of the encoder's stream; 0: the decoder's");
  visit("layers", layers, "encoder layers");
  visit("heads", heads, "attention heads; 0: the decoder's");
  visit("head_width", head_width, "features of a head; 0: the decoder's");
  visit("feed_forward", feed_forward, "features inside the feed-forward part; 0: 4 x width");
  visit("cross_attention_layers", cross_attention_layers,
        "encoder layers (0-based) that read the chunk which retrieved the neighbours");
  visit("query_conditioning", query_conditioning, "false removes that cross-attention (ablation)");
}

void ModelConfig::visit_fields(FieldVisitor& visit) {
  visit("vocabulary", vocabulary, "pieces; 0: the tokenizer's");
  visit("width", width, "d, features of the decoder's stream");
  visit("layers", layers, "decoder layers");
  visit("heads", heads, "attention heads");
  visit("head_width", head_width, "features of a head; heads x head_width need not equal width");
  visit("feed_forward", feed_forward, "features inside the feed-forward part; 0: 4 x width");
  visit("chunk_length", chunk_length, "m, tokens of a chunk");
  visit("cca_layers", cca_layers,
        "decoder layers (0-based) with chunked cross-attention; empty: no retrieval");
  visit("encoder", encoder, "the encoder of retrieved chunks");
  visit("block", block, "the decoder's blocks; imported checkpoints bring their own");
  visit("share_embeddings", share_embeddings,
        "the encoder reads the decoder's embedding (needs equal widths)");
  visit("tie_output", tie_output, "the output projection is the embedding");
  visit("init_std", init_std, "standard deviation of initial weights; 0: 1/sqrt(width)");
  visit("dropout", dropout,
        "share of what each part of a layer adds to the stream that training drops");
  visit("cca_positions", cca_positions,
        "false drops the position term of cross-attention (ablation)");
  visit.choice("cca_scheme", cca_scheme, {"relative", "rotary"},
               "positions of cross-attention: relative distances, or rotary in the same frame");
  visit.choice("retrieved_part", retrieved_part, {"both", "neighbour", "continuation"},
               "what of a retrieved value the model sees (ablation)");
  visit("attend_across_documents", attend_across_documents,
        "positions see earlier documents of their sequence");
}

namespace {

void check_layers(const std::string& key, const std::vector<int64_t>& chosen, int64_t layers) {
  std::set<int64_t> seen;
  for (const int64_t layer : chosen) {
    RETRO_CHECK(layer >= 0 && layer < layers, "{}: layer {} does not exist; layers are 0 to {}",
                key, layer, layers - 1);
    RETRO_CHECK(seen.insert(layer).second, "{}: layer {} is named twice", key, layer);
  }
}

void check_positive(const std::string& key, int64_t value) {
  RETRO_CHECK(value > 0, "{} is {}; it must be at least 1", key, value);
}

void check(const ModelConfig& config) {
  check_positive("model.width", config.width);
  check_positive("model.layers", config.layers);
  check_positive("model.heads", config.heads);
  check_positive("model.head_width", config.head_width);
  check_positive("model.chunk_length", config.chunk_length);
  check_positive("model.feed_forward", config.feed_forward);
  check_positive("model.encoder.width", config.encoder.width);
  check_positive("model.encoder.layers", config.encoder.layers);
  check_positive("model.encoder.heads", config.encoder.heads);
  check_positive("model.encoder.head_width", config.encoder.head_width);
  check_positive("model.encoder.feed_forward", config.encoder.feed_forward);
  RETRO_CHECK(config.vocabulary >= 0, "model.vocabulary is {}; it must not be negative",
              config.vocabulary);
  RETRO_CHECK(config.width % 2 == 0, "model.width is {}; distances need an even width",
              config.width);
  RETRO_CHECK(config.encoder.width % 2 == 0,
              "model.encoder.width is {}; distances need an even width", config.encoder.width);
  RETRO_CHECK(config.init_std > 0, "model.init_std is {}; it must not be negative",
              config.init_std);
  RETRO_CHECK(config.dropout >= 0 && config.dropout < 1,
              "model.dropout is {}; it must be at least 0 and below 1", config.dropout);
  RETRO_CHECK(!config.share_embeddings || config.encoder.width == config.width,
              "model.share_embeddings needs model.encoder.width ({}) equal to model.width ({})",
              config.encoder.width, config.width);
  check_block(config.block, config.heads, config.head_width);
  RETRO_CHECK(config.cca_scheme != "rotary" || config.head_width % 2 == 0,
              "model.head_width is {}; rotary positions need an even one", config.head_width);
  check_layers("model.cca_layers", config.cca_layers, config.layers);
  check_layers("model.encoder.cross_attention_layers", config.encoder.cross_attention_layers,
               config.encoder.layers);
}

void fill(int64_t& value, int64_t fallback) {
  if (value == 0) value = fallback;
}

}  // namespace

ModelConfig ModelConfig::resolved() const {
  ModelConfig full = *this;
  fill(full.feed_forward, 4 * width);
  fill(full.block.key_value_heads, heads);
  fill(full.encoder.width, width);
  fill(full.encoder.heads, heads);
  fill(full.encoder.head_width, head_width);
  fill(full.encoder.feed_forward, 4 * full.encoder.width);
  if (full.init_std == 0.0)
    full.init_std = 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(1, width)));
  check(full);
  return full;
}

}  // namespace retro
