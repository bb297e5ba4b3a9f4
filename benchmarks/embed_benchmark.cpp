// Chunk text to keys. Driven by embed_benchmark.py, which measures `transformers` in the same run.
//   embed_benchmark chunks TEXT.jsonl COUNT CHUNKS.json            real chunks of 64 tokens, in
//   document order embed_benchmark embed MODEL CHUNKS.json PRECISION THREADS KEYS embeds them once;
//   one JSON line
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/json.h"
#include "retro/embed/bert_embedder.h"
#include "retro/text/chunker.h"
#include "retro/text/corpus_reader.h"
#include "retro/text/sentencepiece_tokenizer.h"

namespace {

namespace fs = std::filesystem;
constexpr int64_t kChunkLength = 64;

std::vector<std::string> read_texts(const fs::path& path) {
  std::vector<std::string> texts;
  retro::read_documents(
      path, [&](retro::RawDocument&& document) { texts.push_back(std::move(document.text)); });
  return texts;
}

/// The quickstart's tokenizer: 4,096 pieces, trained on this text.
retro::SentencePieceTokenizer make_tokenizer(const std::vector<std::string>& texts,
                                             const fs::path& path) {
  const auto source = [&](const std::function<void(std::string_view)>& sink) {
    for (const std::string& text : texts) sink(text);
  };
  retro::TokenizerConfig config;
  config.training_bytes = 4'000'000;
  retro::train_sentencepiece(source, config, 1, 2, path);
  return retro::SentencePieceTokenizer(path);
}

void write_chunks(const fs::path& text_path, size_t count, const fs::path& out) {
  const auto texts = read_texts(text_path);
  const auto tokenizer = make_tokenizer(texts, fs::path(out).concat(".tokenizer.model"));
  nlohmann::json chunks = nlohmann::json::array();
  for (const std::string& text : texts) {
    const auto encoded = tokenizer.encode(text).ids;
    const std::vector<uint32_t> tokens(encoded.begin(), encoded.end());
    const auto length = static_cast<int64_t>(tokens.size());
    for (int64_t c = 0; c < retro::num_chunks(length, kChunkLength) && chunks.size() < count; ++c) {
      const retro::ChunkSpan span = retro::chunk_span(length, kChunkLength, c);
      chunks.push_back(retro::chunk_text(
          tokenizer, std::span(tokens).subspan(static_cast<size_t>(span.first_token),
                                               static_cast<size_t>(span.length))));
    }
  }
  retro::write_json_file(out, chunks);
}

void embed(const fs::path& model, const fs::path& chunks_path, const std::string& precision,
           const fs::path& keys_path) {
  const auto texts = retro::read_json_file(chunks_path).get<std::vector<std::string>>();
  retro::EmbedConfig config;
  config.precision = precision;
  retro::BertEmbedder embedder(model, config);
  std::vector<float> keys_TQ(texts.size() * static_cast<size_t>(embedder.key_width()));
  std::vector<uint8_t> has_key(texts.size());
  embedder.embed(std::span(texts).first(std::min<size_t>(64, texts.size())),
                 std::span(keys_TQ).first(static_cast<size_t>(embedder.key_width()) *
                                          std::min<size_t>(64, texts.size())),
                 std::span(has_key).first(std::min<size_t>(64, texts.size())));
  const int64_t warm_pieces = embedder.pieces_read();
  const auto start = std::chrono::steady_clock::now();
  embedder.embed(texts, keys_TQ, has_key);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  retro::write_file(
      keys_path, {reinterpret_cast<const char*>(keys_TQ.data()), keys_TQ.size() * sizeof(float)});
  fmt::print("{{\"seconds\": {:.4f}, \"chunks\": {}, \"wordpieces\": {}}}\n", elapsed.count(),
             texts.size(), embedder.pieces_read() - warm_pieces);
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 4 && arguments[0] == "chunks") {
    write_chunks(arguments[1], std::stoul(arguments[2]), arguments[3]);
  } else if (arguments.size() == 6 && arguments[0] == "embed") {
    at::set_num_threads(std::stoi(arguments[4]));
    embed(arguments[1], arguments[2], arguments[3], arguments[5]);
  } else {
    fmt::print(stderr, "usage: see benchmarks/embed_benchmark.py\n");
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const retro::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return EXIT_FAILURE;
  }
}
