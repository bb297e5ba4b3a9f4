// Text to ids on one thread. Driven by tokenizer_benchmark.py, which measures `tokenizers` on the
// same documents.
//   tokenizer_benchmark TOKENIZER TEXT.jsonl IDS      writes every document's ids (int32) to IDS;
//   one JSON line
#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/text/corpus_reader.h"
#include "retro/text/tokenizer.h"

namespace {

constexpr int kTurns = 3;

/// Of this process: the machine may be busy.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<std::string> read_texts(const std::string& path) {
  std::vector<std::string> texts;
  retro::read_documents(
      path, [&](retro::RawDocument&& document) { texts.push_back(std::move(document.text)); });
  return texts;
}

std::vector<int32_t> encode_all(const retro::Tokenizer& tokenizer,
                                const std::vector<std::string>& texts) {
  std::vector<int32_t> all;
  for (const std::string& text : texts) {
    const auto ids = tokenizer.encode(text).ids;
    all.insert(all.end(), ids.begin(), ids.end());
  }
  return all;
}

void run(const std::string& model, const std::string& text_path, const std::string& ids_path) {
  const double start = cpu_seconds();
  const auto tokenizer = retro::load_tokenizer(model);
  const double load_seconds = cpu_seconds() - start;
  const auto texts = read_texts(text_path);
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  std::vector<int32_t> ids;
  double best = 1e9;
  for (int turn = 0; turn < kTurns; ++turn) {
    const double begin = cpu_seconds();
    ids = encode_all(*tokenizer, texts);
    best = std::min(best, cpu_seconds() - begin);
  }
  retro::AtomicFile file(ids_path);
  file.write_array(std::span<const int32_t>(ids));
  file.commit();
  fmt::print(
      R"({{"documents": {}, "bytes": {}, "tokens": {}, "load_seconds": {:.3f}, "seconds": {:.4f}}})"
      "\n",
      texts.size(), bytes, ids.size(), load_seconds, best);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    RETRO_CHECK(count == 4, "usage: tokenizer_benchmark TOKENIZER TEXT.jsonl IDS");
    run(arguments[1], arguments[2], arguments[3]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
