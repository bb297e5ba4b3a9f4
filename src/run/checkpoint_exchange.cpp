#include "retro/run/checkpoint_exchange.h"

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/gguf.h"
#include "retro/core/log.h"
#include "retro/core/safetensors.h"
#include "retro/model/carried_keys.h"
#include "retro/model/gguf_import.h"
#include "retro/model/hugging_face.h"
#include "retro/model/weights.h"
#include "retro/run/fit_config.h"
#include "retro/text/tokenizer.h"

namespace retro {

namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "model.safetensors";

/// Whatever the tokenizer needs: one of its forms, and the settings beside it.
void copy_tokenizer_files(const fs::path& from, const fs::path& to) {
  for (const char* name : {"tokenizer.model", "tokenizer.json", "vocab.json", "merges.txt",
                           "tokenizer_config.json", "special_tokens_map.json"}) {
    if (fs::exists(from / name)) write_file(to / name, read_file(from / name));
  }
}

/// A vocabulary we cannot use (SentencePiece inside GGUF) does not spoil the weights.
void copy_embedded_tokenizer(const fs::path& gguf, const fs::path& to) {
  try {
    copy_tokenizer(gguf, to);
  } catch (const Error& error) {
    log_warning("the tokenizer in it is not taken over: {}", error.what());
  }
}

/// Pieces of the tokenizer beside the weights; 0 where there is none that can be read.
int64_t tokenizer_pieces(const fs::path& directory) {
  const fs::path tokenizer = find_base(directory).tokenizer;
  if (tokenizer.empty()) return 0;
  try {
    return load_tokenizer(tokenizer)->vocabulary_size();
  } catch (const Error& error) {
    log_warning("the tokenizer beside the weights cannot be used: {}", error.what());
    return 0;
  }
}

/// Embeddings may be padded, so that fewer pieces than rows are no error.
void check_tokenizer(const fs::path& directory, const RetroModel& model, const fs::path& source) {
  const int64_t pieces = tokenizer_pieces(directory), rows = model->config().vocabulary;
  RETRO_CHECK(pieces <= rows,
              "{}: its tokenizer has {} pieces, the weights know {}: they are of different models",
              source.string(), pieces, rows);
  if (pieces > 0 && pieces < rows - rows / 10) {
    log_warning("{}: its tokenizer has {} pieces, the weights know {}: are they of one model?",
                source.string(), pieces, rows);
  }
}

void check_target(const fs::path& out) {
  const bool is_free = !fs::exists(out) || (fs::is_directory(out) && fs::is_empty(out));
  RETRO_CHECK(is_free || fs::exists(out / kWeights),
              "{}: is there already and holds no checkpoint; name another directory", out.string());
}

std::string describe(const ModelConfig& config) {
  const BlockConfig& block = config.block;
  return fmt::format(
      "{} layers of {} features, {} heads ({} of keys) of {}, {} positions, {} norm, {} "
      "feed-forward of {}, {} pieces, output {}",
      config.layers, config.width, config.heads, block.key_value_heads, config.head_width,
      block.positions, block.norm, block.feed_forward, config.feed_forward, config.vocabulary,
      config.tie_output ? "tied" : "of its own");
}

}  // namespace

ImportSummary import_checkpoint(const fs::path& source, const fs::path& out) {
  RETRO_CHECK(fs::exists(source), "{}: no such file or directory", source.string());
  const bool is_directory = fs::is_directory(source);
  RETRO_CHECK(is_directory || is_gguf_file(source),
              "{}: is neither a Hugging Face directory (config.json, safetensors) nor a GGUF file",
              source.string());
  check_target(out);
  const RetroModel model = is_directory ? import_hugging_face(source) : import_gguf(source);
  write_directory(out, [&](const fs::path& temporary) {
    save_weights(
        model, temporary / kWeights,
        {{"imported_from", source.filename().string()}, {kCarriedKeys, carried_keys(source)}});
    is_directory ? copy_tokenizer_files(source, temporary)
                 : copy_embedded_tokenizer(source, temporary / "tokenizer.json");
    check_tokenizer(temporary, model, source);
  });
  return {describe(model->config()), model->num_parameters(), find_base(out).tokenizer};
}

void export_checkpoint(const fs::path& source, const fs::path& out) {
  const BaseFiles files = find_base(source);
  check_target(out);
  const RetroModel model = load_model(files.weights);
  const auto metadata = SafetensorsReader(files.weights).metadata();
  const auto carried = metadata.find(kCarriedKeys);
  write_directory(out, [&](const fs::path& temporary) {
    export_hugging_face(model, temporary, carried == metadata.end() ? "" : carried->second);
    copy_tokenizer_files(source, temporary);
  });
}

}  // namespace retro
