#include "retro/generate/cached_decoder.h"

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "generate/tiny_model.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::full_logits;
using testing::kChunk;
using testing::largest_difference;
using testing::MadeUpNeighbours;
using testing::random_document;
using testing::stream_of;
using testing::tiny_config;
using testing::tiny_model;
using testing::Window;

constexpr int64_t kWindow = 6 * kChunk;
constexpr double kTolerance = 1e-4;  // docs/testing.md: cached decoding in float32

/// Token by token; the logits after every token must be those of the full forward. Returns the
/// largest difference.
double worst_difference(RetroModel& model, MadeUpNeighbours* fetcher, int64_t k,
                        const std::vector<int32_t>& document) {
  CachedDecoder decoder(model, fetcher, k, kWindow);
  KeyValueCache cache;
  const at::Tensor expected = full_logits(model, stream_of(document), fetcher, k);
  double worst =
      largest_difference(decoder.begin(cache, ByteTokenizer::kEnd), expected[kChunk - 1]);
  for (size_t i = 0; i < document.size(); ++i) {
    const AppendRequest request{&cache, std::span(document).subspan(i, 1)};
    const at::Tensor logits = decoder.append({&request, 1})[0];
    worst = std::max(worst, largest_difference(logits, expected[kChunk + static_cast<int64_t>(i)]));
  }
  return worst;
}

/// How much retrieval moves the logits: a tolerance far below it means something.
double effect_of_retrieval(RetroModel& model, const MadeUpNeighbours& fetcher,
                           const std::vector<int32_t>& document) {
  return largest_difference(full_logits(model, stream_of(document), &fetcher, 2),
                            full_logits(model, stream_of(document), nullptr, 0));
}

TEST(CachedDecoderTest, EqualsTheFullForwardAcrossBoundaries) {
  RetroModel model = tiny_model();
  MadeUpNeighbours fetcher;
  const auto document = random_document(4 * kChunk + 3, 1);
  ASSERT_GT(effect_of_retrieval(model, fetcher, document), 0.05);
  for (const int64_t k : {1, 2, 5})
    EXPECT_LT(worst_difference(model, &fetcher, k, document), kTolerance) << k;
}

TEST(CachedDecoderTest, RetrievalOffEqualsTheModelWithoutNeighbours) {
  RetroModel model = tiny_model();
  MadeUpNeighbours fetcher;
  EXPECT_LT(worst_difference(model, nullptr, 2, random_document(3 * kChunk, 2)), kTolerance);
  EXPECT_LT(worst_difference(model, &fetcher, 0, random_document(3 * kChunk, 2)), kTolerance);
  EXPECT_TRUE(fetcher.asked.empty());
  ModelConfig baseline = tiny_config();
  baseline.cca_layers = {};
  RetroModel without = tiny_model(baseline);
  EXPECT_LT(worst_difference(without, nullptr, 2, random_document(3 * kChunk, 2)), kTolerance);
}

TEST(CachedDecoderTest, EveryAblationAgrees) {
  std::vector<ModelConfig> configs(7, tiny_config());
  configs[0].cca_positions = false;
  configs[1].encoder.query_conditioning = false;
  configs[2].share_embeddings = configs[2].tie_output = true;
  configs[2].encoder.width = configs[2].width;
  configs[3].retrieved_part = "neighbour";
  configs[4].retrieved_part = "continuation";
  configs[5].attend_across_documents = false;
  configs[6].cca_layers = {0};
  configs[6].encoder.cross_attention_layers = {0, 1};
  for (size_t c = 0; c < configs.size(); ++c) {
    RetroModel model = tiny_model(configs[c]);
    MadeUpNeighbours fetcher;
    EXPECT_LT(worst_difference(model, &fetcher, 2, random_document(3 * kChunk + 1, 3)), kTolerance)
        << c;
  }
}

TEST(CachedDecoderTest, TheLastTokenOfAChunkReadsItsOwnNeighbours) {
  RetroModel model = tiny_model();
  const auto document = random_document(kChunk, 4);
  std::vector<at::Tensor> logits;
  for (const uint32_t salt : {1u, 2u}) {
    MadeUpNeighbours fetcher;
    fetcher.salt = salt;
    fetcher.always_all = true;
    CachedDecoder decoder(model, &fetcher, 2, kWindow);
    KeyValueCache cache;
    decoder.begin(cache, ByteTokenizer::kEnd);
    logits.push_back(decoder.append_text(cache, document));
    EXPECT_EQ(fetcher.asked, (std::vector<std::vector<int32_t>>{document}));
  }
  EXPECT_GT(largest_difference(logits[0], logits[1]), 1e-2);
}

TEST(CachedDecoderTest, NeighboursAreFetchedOncePerCompleteChunk) {
  RetroModel model = tiny_model();
  for (const auto& [length, queries] : std::vector<std::pair<int64_t, size_t>>{
           {1, 0}, {kChunk - 1, 0}, {kChunk, 1}, {kChunk + 1, 1}, {2 * kChunk + 2, 2}}) {
    MadeUpNeighbours fetcher;
    CachedDecoder decoder(model, &fetcher, 2, kWindow);
    KeyValueCache cache;
    decoder.begin(cache, ByteTokenizer::kEnd);
    decoder.append_text(cache, random_document(length, 5));
    EXPECT_EQ(fetcher.asked.size(), queries) << length;
  }
}

TEST(CachedDecoderTest, RaggedBatchesEqualTheFullForward) {
  RetroModel model = tiny_model();
  MadeUpNeighbours fetcher;
  CachedDecoder decoder(model, &fetcher, 2, kWindow);
  const std::vector<int64_t> prompt_lengths = {1, kChunk - 1, kChunk, 2 * kChunk + 2};
  std::vector<KeyValueCache> caches(prompt_lengths.size());
  std::vector<std::vector<int32_t>> documents;
  for (size_t row = 0; row < caches.size(); ++row) {
    documents.push_back(random_document(prompt_lengths[row], 10 + static_cast<uint32_t>(row)));
    decoder.begin(caches[row], ByteTokenizer::kEnd);
    decoder.append_text(caches[row], documents[row]);
  }
  // Rows reach their boundaries at different steps.
  for (int step = 0; step < 2 * kChunk + 1; ++step) {
    std::vector<AppendRequest> requests;
    for (size_t row = 0; row < caches.size(); ++row) {
      documents[row].push_back('a' + (7 * step + static_cast<int>(row)) % 26);
      requests.push_back({&caches[row], std::span(documents[row]).last(1)});
    }
    const at::Tensor logits = decoder.append(requests);
    for (size_t row = 0; row < caches.size(); ++row) {
      const at::Tensor expected = full_logits(model, stream_of(documents[row]), &fetcher, 2);
      EXPECT_LT(largest_difference(logits[static_cast<int64_t>(row)], expected[-1]), kTolerance)
          << row << " at " << step;
    }
  }
}

TEST(CachedDecoderTest, RowsMayAppendDifferentNumbersOfTokens) {
  RetroModel model = tiny_model();
  MadeUpNeighbours fetcher;
  CachedDecoder decoder(model, &fetcher, 2, kWindow);
  std::vector<KeyValueCache> caches(2);
  for (KeyValueCache& cache : caches) decoder.begin(cache, ByteTokenizer::kEnd);
  const std::vector<std::vector<int32_t>> documents = {random_document(kChunk, 20),
                                                       random_document(2, 21)};
  const std::vector<AppendRequest> requests = {{&caches[0], documents[0]},
                                               {&caches[1], documents[1]}};
  const at::Tensor logits = decoder.append(requests);
  for (int64_t row = 0; row < 2; ++row) {
    const at::Tensor expected =
        full_logits(model, stream_of(documents[static_cast<size_t>(row)]), &fetcher, 2);
    EXPECT_LT(largest_difference(logits[row], expected[-1]), kTolerance) << row;
  }
}

/// The window a sequence of `total` stream positions is in: l/2 chunks fall off whenever a token
/// finds it full.
Window window_of(const std::vector<int32_t>& document) {
  Window window = stream_of(document);
  while (static_cast<int64_t>(window.tokens.size()) > kWindow) {
    window.tokens.erase(window.tokens.begin(), window.tokens.begin() + kWindow / 2);
    window.num_padding = 0;
  }
  return window;
}

TEST(CachedDecoderTest, BeyondTheWindowItEqualsTheFullForwardOfTheSameWindow) {
  RetroModel model = tiny_model();
  MadeUpNeighbours fetcher;
  CachedDecoder decoder(model, &fetcher, 2, kWindow);
  KeyValueCache cache;
  decoder.begin(cache, ByteTokenizer::kEnd);
  const auto document = random_document(2 * kWindow + 3, 6);
  for (size_t i = 0; i < document.size(); ++i) {
    const AppendRequest request{&cache, std::span(document).subspan(i, 1)};
    const at::Tensor logits = decoder.append({&request, 1})[0];
    const Window window =
        window_of({document.begin(), document.begin() + static_cast<int64_t>(i) + 1});
    ASSERT_EQ(cache.tokens, window.tokens) << i;
    EXPECT_LT(largest_difference(logits, full_logits(model, window, &fetcher, 2)[-1]), kTolerance)
        << i;
  }
  // Neighbours of kept chunks are not fetched again.
  EXPECT_EQ(fetcher.asked.size(), document.size() / kChunk);
  EXPECT_EQ(cache.dropped_chunks * kChunk + cache.length,
            kChunk + static_cast<int64_t>(document.size()));
}

TEST(CachedDecoderTest, ALongTextAtOnceEqualsTokenByToken) {
  RetroModel model = tiny_model();
  for (const int64_t length :
       {kWindow - kChunk, kWindow - kChunk + 1, kWindow + 5, 3 * kWindow + 2}) {
    MadeUpNeighbours fetcher;
    CachedDecoder decoder(model, &fetcher, 2, kWindow);
    KeyValueCache cache;
    decoder.begin(cache, ByteTokenizer::kEnd);
    const auto document = random_document(length, 8);
    const at::Tensor logits = decoder.append_text(cache, document);
    const Window window = window_of(document);
    EXPECT_EQ(cache.tokens, window.tokens) << length;
    EXPECT_LT(largest_difference(logits, full_logits(model, window, &fetcher, 2)[-1]), kTolerance)
        << length;
    EXPECT_EQ(cache.dropped_chunks * kChunk + cache.length, kChunk + length);
  }
}

TEST(CachedDecoderTest, ClonesGoTheirOwnWays) {
  RetroModel model = tiny_model();
  MadeUpNeighbours fetcher;
  CachedDecoder decoder(model, &fetcher, 2, kWindow);
  KeyValueCache cache;
  decoder.begin(cache, ByteTokenizer::kEnd);
  auto document = random_document(kChunk + 2, 9);
  decoder.append_text(cache, document);
  KeyValueCache copy = cache.clone();
  const auto other_end = random_document(3, 90);
  decoder.append_text(copy, other_end);
  const auto own_end = random_document(3, 91);
  const at::Tensor logits = decoder.append_text(cache, own_end);
  document.insert(document.end(), own_end.begin(), own_end.end());
  EXPECT_LT(largest_difference(logits, full_logits(model, stream_of(document), &fetcher, 2)[-1]),
            kTolerance);
}

TEST(CachedDecoderTest, BadUseIsRefused) {
  RetroModel model = tiny_model();
  EXPECT_THROW(CachedDecoder(model, nullptr, 2, kWindow + 1), Error);
  EXPECT_THROW(CachedDecoder(model, nullptr, 2, kChunk), Error);
  CachedDecoder decoder(model, nullptr, 2, kWindow);
  KeyValueCache cache;
  decoder.begin(cache, ByteTokenizer::kEnd);
  const auto document = random_document(kChunk + 1, 1);
  const AppendRequest request{&cache, document};
  EXPECT_THROW(decoder.append({&request, 1}), Error);
}

}  // namespace
}  // namespace retro
