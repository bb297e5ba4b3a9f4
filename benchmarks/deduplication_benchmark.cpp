// Near-duplicates within a text. Driven by deduplication_benchmark.py, which measures `datasketch`
// in the same run; alone, for texts too long for that.
//   deduplication_benchmark tokens OUT VOCABULARY TEXT...  trains a tokenizer on the texts (JSONL,
//   or
//                                                          folders of text and HTML), writes
//                                                          OUT.ids.bin (uint32), OUT.lengths.bin
//                                                          (int64)
//   deduplication_benchmark find OUT THREADS PAIRS         one JSON line; PAIRS: rows "document
//                                                          survivor similarity"
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <sys/resource.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/log.h"
#include "retro/core/mapped_file.h"
#include "retro/core/parallel.h"
#include "retro/text/corpus_reader.h"
#include "retro/text/duplicate_clusters.h"
#include "retro/text/sentencepiece_tokenizer.h"

namespace {

using Seconds = std::chrono::duration<double>;

using Texts = std::vector<std::string>;

/// Calls `sink` with some documents at a time.
template <class Sink>
void read_batches(const Texts& paths, Sink&& sink) {
  constexpr size_t kBatch = 4096;
  Texts batch;
  for (const std::string& path : paths) {
    retro::read_documents(path, [&](retro::RawDocument&& raw) {
      batch.push_back(std::move(raw.text));
      if (batch.size() == kBatch) sink(std::exchange(batch, {}));
    });
  }
  if (!batch.empty()) sink(std::move(batch));
}

template <class T>
void append(std::ofstream& file, const std::vector<T>& values) {
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
}

void write_tokens(const std::string& out, int64_t vocabulary, const Texts& paths) {
  retro::TokenizerConfig config;
  config.vocabulary = vocabulary;
  config.training_bytes = 4'000'000;
  const auto source = [&](const std::function<void(std::string_view)>& sink) {
    read_batches(paths, [&](const Texts& batch) {
      for (const std::string& text : batch) sink(text);
    });
  };
  const std::string model = out + ".tokenizer.model";
  retro::train_sentencepiece(source, config, 1, retro::default_thread_count(), model);
  const retro::SentencePieceTokenizer tokenizer(model);
  std::ofstream ids_file(out + ".ids.bin", std::ios::binary);
  std::ofstream lengths_file(out + ".lengths.bin", std::ios::binary);
  int64_t num_bytes = 0;
  read_batches(paths, [&](const Texts& batch) {
    std::vector<std::vector<uint32_t>> ids(batch.size());
    const auto encode = [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        const auto encoded = tokenizer.encode(batch[i]).ids;
        ids[i].assign(encoded.begin(), encoded.end());
      }
    };
    retro::parallel_for(static_cast<int64_t>(batch.size()), 0, encode, 16);
    std::vector<int64_t> lengths;
    for (const auto& document : ids) {
      append(ids_file, document);
      lengths.push_back(static_cast<int64_t>(document.size()));
    }
    append(lengths_file, lengths);
    for (const std::string& text : batch) num_bytes += static_cast<int64_t>(text.size());
  });
  fmt::print("{{\"text_bytes\": {}}}\n", num_bytes);
}

template <class T>
std::span<const T> values_of(const retro::MappedFile& file) {
  return {reinterpret_cast<const T*>(file.bytes().data()), file.bytes().size() / sizeof(T)};
}

/// Largest resident memory of this process so far, mapped files included.
int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void find(const std::string& out, int num_threads, const std::string& pairs_path) {
  const retro::MappedFile ids_file(out + ".ids.bin");
  const retro::MappedFile lengths_file(out + ".lengths.bin");
  const auto ids = values_of<uint32_t>(ids_file);
  const auto lengths = values_of<int64_t>(lengths_file);
  std::vector<retro::ClusterDocument> documents;
  size_t first = 0;
  for (size_t d = 0; d < lengths.size(); ++d) {
    const auto length = static_cast<size_t>(lengths[d]);
    documents.push_back({ids.subspan(first, length), 1, fmt::format("{:09}", d)});
    first += length;
  }
  const double cpu_start = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  const auto pairs = retro::find_duplicates(documents, num_threads);
  const Seconds elapsed = std::chrono::steady_clock::now() - start;
  std::string rows;
  for (const auto& pair : pairs)
    rows += fmt::format("{} {} {:.17g}\n", pair.document, pair.survivor, pair.similarity);
  retro::write_file(pairs_path, rows);
  fmt::print(
      "{{\"seconds\": {:.4f}, \"cpu_seconds\": {:.4f}, \"documents\": {}, \"tokens\": {}, "
      "\"pairs\": {}, \"peak_bytes\": {}, \"of_which_mapped_bytes\": {}}}\n",
      elapsed.count(), cpu_seconds() - cpu_start, lengths.size(), ids.size(), pairs.size(),
      peak_bytes(), ids_file.bytes().size() + lengths_file.bytes().size());
}

int run(const std::vector<std::string>& arguments) {
  retro::set_log_quiet(true);
  if (arguments.size() >= 4 && arguments[0] == "tokens") {
    write_tokens(arguments[1], std::stol(arguments[2]), {arguments.begin() + 3, arguments.end()});
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
