#include "retro/embed/bert_embedder.h"

#include <algorithm>
#include <atomic>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "retro/core/bundle.h"
#include "retro/core/error.h"
#include "retro/core/hash.h"
#include "retro/ops/precision.h"
#include "retro/text/wordpiece_tokenizer.h"

#include "bert_encoder.h"
#include "bert_windows.h"

namespace retro {
namespace {

/// Pieces of one window in the paper's BERT: 512 positions less [CLS] and [SEP].
constexpr int64_t kWindowPieces = 510;
/// Texts tokenised and read at a time: bounds memory, whatever the caller asks for.
constexpr size_t kSlabTexts = 2048;

std::filesystem::path require_file(const std::filesystem::path& directory, const char* name) {
  const std::filesystem::path path = directory / name;
  RETRO_CHECK(
      path_exists(path),
      "embed.model: {} is missing; expected a directory with config.json, model.safetensors and "
      "vocab.txt",
      path.string());
  return path;
}

/// An identity is "bert-mean-WINDOW:PRECISION:HASH".
constexpr std::string_view kRecipe = "bert-mean-";

/// Everything that decides a key's value.
std::string describe(const std::filesystem::path& directory, Precision precision) {
  Hasher hasher;
  for (const char* name : {"config.json", "model.safetensors", "vocab.txt"}) {
    hasher.add(hash_file(directory / name));
  }
  return fmt::format("{}{}:{}:{}", kRecipe, kWindowPieces, precision_name(precision), hasher.hex());
}

/// bfloat16 on any CPU: keys must be the same wherever a database is read.
Precision encoder_precision(const std::string& name) {
  return name == "bfloat16" ? Precision::kBfloat16 : resolve_precision(name);
}

/// Runs body(i) for every i below `count`, on all threads if there is more than one; the threads
/// take the next index as they become free.
template <class Body>
void run_blocks(size_t count, const Body& body) {
  std::atomic<size_t> next = 0;
  const auto workers = std::min<int64_t>(at::get_num_threads(), static_cast<int64_t>(count));
  at::parallel_for(0, workers, 1, [&](int64_t, int64_t) {
    for (size_t i = next++; i < count; i = next++) body(i);
  });
}

}  // namespace

struct BertEmbedder::Impl {
  WordPieceTokenizer tokenizer;
  BertEncoder encoder;
  std::string identity;
  int64_t block_pieces;
  int64_t pieces_read = 0;

  using Pieces = std::vector<std::vector<int32_t>>;

  Pieces tokenise(std::span<const std::string> texts) const {
    Pieces pieces(texts.size());
    at::parallel_for(0, static_cast<int64_t>(texts.size()), 16, [&](int64_t begin, int64_t end) {
      for (auto t = static_cast<size_t>(begin); t < static_cast<size_t>(end); ++t) {
        pieces[t] = tokenizer.encode(texts[t]);
      }
    });
    return pieces;
  }

  std::vector<PieceWindow> windows_of(const Pieces& pieces) const {
    std::vector<int64_t> counts;
    for (const auto& ids : pieces) counts.push_back(static_cast<int64_t>(ids.size()));
    return split_windows(counts, std::min(kWindowPieces, encoder.config().positions - 2));
  }

  PackedPieces pack(const Pieces& pieces, std::span<const PieceWindow> windows) const {
    PackedPieces packed;
    for (const PieceWindow& window : windows) {
      const auto& ids = pieces[static_cast<size_t>(window.text)];
      packed.append(tokenizer.cls_id());
      const auto begin = ids.begin() + window.first;
      packed.ids_T.insert(packed.ids_T.end(), begin, begin + window.count);
      packed.append(tokenizer.sep_id());
      packed.end_text();
    }
    return packed;
  }

  /// Writes to sums_WQ, for each window, the sum of its pieces' hidden states, special tokens left
  /// out.
  void sum_windows(const Pieces& pieces, std::span<const PieceWindow> windows,
                   std::span<double> sums_WQ) const {
    const at::NoGradGuard no_grad;
    const PackedPieces packed = pack(pieces, windows);
    const at::Tensor hidden_TD = encoder.forward(packed);
    const int64_t width = encoder.config().width;
    for (size_t w = 0; w < windows.size(); ++w) {
      const float* row = hidden_TD.const_data_ptr<float>() + (packed.first[w] + 1) * width;
      double* const sum = sums_WQ.data() + static_cast<int64_t>(w) * width;
      for (int64_t piece = 0; piece < windows[w].count; ++piece, row += width) {
        for (int64_t q = 0; q < width; ++q) sum[q] += static_cast<double>(row[q]);
      }
    }
  }

  void embed_slab(std::span<const std::string> texts, std::span<float> keys_TQ,
                  std::span<uint8_t> has_key) {
    const auto width = static_cast<size_t>(encoder.config().width);
    const Pieces pieces = tokenise(texts);
    const std::vector<PieceWindow> windows = windows_of(pieces);
    std::vector<double> sums_WQ(windows.size() * width, 0.0);
    const auto blocks = split_blocks(windows, block_pieces, at::get_num_threads());
    run_blocks(blocks.size(), [&](size_t b) {
      const auto [begin, end] = blocks[b];
      sum_windows(pieces, std::span(windows).subspan(begin, end - begin),
                  std::span(sums_WQ).subspan(begin * width, (end - begin) * width));
    });
    size_t w = 0;
    for (size_t t = 0; t < texts.size(); ++t) {
      std::vector<double> sum_Q(width, 0.0);
      for (; w < windows.size() && windows[w].text == static_cast<int64_t>(t); ++w) {
        for (size_t q = 0; q < width; ++q) sum_Q[q] += sums_WQ[w * width + q];
      }
      const double count = std::max<double>(static_cast<double>(pieces[t].size()), 1.0);
      for (size_t q = 0; q < width; ++q)
        keys_TQ[t * width + q] = static_cast<float>(sum_Q[q] / count);
      has_key[t] = pieces[t].empty() ? 0 : 1;
      pieces_read += static_cast<int64_t>(pieces[t].size());
    }
  }
};

void EmbedConfig::visit_fields(FieldVisitor& visit) {
  visit("model", model,
        "directory of a BERT (config.json, model.safetensors, vocab.txt), or hashed:W");
  visit.choice("precision", precision, {"float32", "bfloat16", "auto"},
               "type of matrix products, part of the database; auto: that of the database where "
               "there is one, else bfloat16 where the CPU has it");
  visit("batch_pieces", batch_pieces, "WordPieces that a thread reads in one forward pass");
}

BertEmbedder::BertEmbedder(const std::filesystem::path& directory, const EmbedConfig& config) {
  const std::filesystem::path config_path = require_file(directory, "config.json");
  const std::filesystem::path weights_path = require_file(directory, "model.safetensors");
  require_file(directory, "vocab.txt");
  RETRO_CHECK(config.batch_pieces >= 1, "embed.batch_pieces is {}, at least 1 is needed",
              config.batch_pieces);
  const Precision precision = encoder_precision(config.precision);
  const BertConfig shape = read_bert_config(config_path);
  WordPieceTokenizer tokenizer = WordPieceTokenizer::from_directory(directory);
  RETRO_CHECK(tokenizer.vocabulary_size() <= shape.vocabulary,
              "{}: vocab.txt has {} pieces, config.json a vocabulary of {}", directory.string(),
              tokenizer.vocabulary_size(), shape.vocabulary);
  impl_ = std::make_unique<Impl>(
      Impl{std::move(tokenizer),
           {shape, load_bert_weights(weights_path, shape, precision), precision},
           describe(directory, precision),
           config.batch_pieces});
}

std::string precision_of_keys(std::string_view identity) {
  if (!identity.starts_with(kRecipe)) return {};
  const size_t begin = identity.find(':');
  if (begin == identity.npos) return {};
  return std::string(identity.substr(begin + 1, identity.find(':', begin + 1) - begin - 1));
}

BertEmbedder::~BertEmbedder() = default;

int64_t BertEmbedder::key_width() const { return impl_->encoder.config().width; }
std::string BertEmbedder::identity() const { return impl_->identity; }
int64_t BertEmbedder::pieces_read() const { return impl_->pieces_read; }

void BertEmbedder::embed(std::span<const std::string> texts, std::span<float> keys_TQ,
                         std::span<uint8_t> has_key) {
  const auto width = static_cast<size_t>(key_width());
  RETRO_CHECK(keys_TQ.size() == texts.size() * width && has_key.size() == texts.size(),
              "bert embedder: {} texts of width {} do not fit {} key values and {} flags",
              texts.size(), width, keys_TQ.size(), has_key.size());
  for (size_t begin = 0; begin < texts.size(); begin += kSlabTexts) {
    const size_t count = std::min(kSlabTexts, texts.size() - begin);
    impl_->embed_slab(texts.subspan(begin, count), keys_TQ.subspan(begin * width, count * width),
                      has_key.subspan(begin, count));
  }
}

}  // namespace retro
