// Near-duplicates within a text. Driven by deduplication_benchmark.py, which measures `datasketch`
// in the same run.
//   deduplication_benchmark tokens TEXT VOCABULARY OUT     trains a tokenizer, writes OUT.ids.bin
//                                                          (uint32) and OUT.lengths.bin (int64)
//   deduplication_benchmark find OUT THREADS PAIRS         one JSON line; PAIRS: rows "document
//                                                          survivor similarity"
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/log.h"
#include "retro/core/parallel.h"
#include "retro/text/corpus_reader.h"
#include "retro/text/duplicate_clusters.h"
#include "retro/text/sentencepiece_tokenizer.h"

namespace {

using Seconds = std::chrono::duration<double>;

template <class T>
void write_values(const std::string& path, const std::vector<T>& values) {
  retro::write_file(path,
                    {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

template <class T>
std::vector<T> read_values(const std::string& path) {
  const std::string bytes = retro::read_file(path);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

void write_tokens(const std::string& text_path, int64_t vocabulary, const std::string& out) {
  std::vector<std::string> texts;
  retro::read_documents(text_path, [&](retro::RawDocument&& raw) { texts.push_back(raw.text); });
  retro::TokenizerConfig config;
  config.vocabulary = vocabulary;
  config.training_bytes = 4'000'000;
  const auto source = [&](const std::function<void(std::string_view)>& sink) {
    for (const std::string& text : texts) sink(text);
  };
  const std::string model = out + ".tokenizer.model";
  retro::train_sentencepiece(source, config, 1, retro::default_thread_count(), model);
  const retro::SentencePieceTokenizer tokenizer(model);
  std::vector<uint32_t> ids;
  std::vector<int64_t> lengths;
  for (const std::string& text : texts) {
    const auto encoded = tokenizer.encode(text).ids;
    ids.insert(ids.end(), encoded.begin(), encoded.end());
    lengths.push_back(static_cast<int64_t>(encoded.size()));
  }
  write_values(out + ".ids.bin", ids);
  write_values(out + ".lengths.bin", lengths);
}

void find(const std::string& out, int num_threads, const std::string& pairs_path) {
  const auto ids = read_values<uint32_t>(out + ".ids.bin");
  const auto lengths = read_values<int64_t>(out + ".lengths.bin");
  std::vector<retro::ClusterDocument> documents;
  size_t first = 0;
  for (size_t d = 0; d < lengths.size(); ++d) {
    const auto length = static_cast<size_t>(lengths[d]);
    documents.push_back({std::span(ids).subspan(first, length), 1, fmt::format("{:09}", d)});
    first += length;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto pairs = retro::find_duplicates(documents, num_threads);
  const Seconds elapsed = std::chrono::steady_clock::now() - start;
  std::string rows;
  for (const auto& pair : pairs)
    rows += fmt::format("{} {} {:.17g}\n", pair.document, pair.survivor, pair.similarity);
  retro::write_file(pairs_path, rows);
  fmt::print("{{\"seconds\": {:.4f}, \"documents\": {}, \"tokens\": {}, \"pairs\": {}}}\n",
             elapsed.count(), lengths.size(), ids.size(), pairs.size());
}

int run(const std::vector<std::string>& arguments) {
  retro::set_log_quiet(true);
  if (arguments.size() == 4 && arguments[0] == "tokens") {
    write_tokens(arguments[1], std::stol(arguments[2]), arguments[3]);
  } else if (arguments.size() == 4 && arguments[0] == "find") {
    find(arguments[1], std::stoi(arguments[2]), arguments[3]);
  } else {
    fmt::print(stderr, "usage: see benchmarks/deduplication_benchmark.py\n");
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
