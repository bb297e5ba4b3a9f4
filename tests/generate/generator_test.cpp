#include "retro/generate/generator.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/utf8.h"

#include "generate/tiny_model.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::full_logits;
using testing::kChunk;
using testing::MadeUpNeighbours;
using testing::random_document;
using testing::stream_of;
using testing::tiny_config;
using testing::tiny_model;

constexpr int64_t kContext = 16 * kChunk;

SampleConfig greedy(int64_t max_tokens) {
  SampleConfig config;
  config.temperature = 0;
  config.max_tokens = max_tokens;
  return config;
}

class GeneratorTest : public ::testing::Test {
 protected:
  GeneratorTest() : model_(tiny_model()) {
    options_.tokenizer = &tokenizer_;
    options_.fetcher = &fetcher_;
    options_.window_length = kContext;
    options_.neighbours = 2;
  }

  /// The likeliest token after `document` by the uncached forward.
  int32_t likeliest(const std::vector<int32_t>& document) {
    return static_cast<int32_t>(
        full_logits(model_, stream_of(document), &fetcher_, 2)[-1].argmax().item<int64_t>());
  }

  /// Greedy continuation token by token without a cache.
  std::vector<int32_t> uncached_greedy(std::vector<int32_t> document, int64_t max_tokens) {
    std::vector<int32_t> generated;
    while (static_cast<int64_t>(generated.size()) < max_tokens) {
      const int32_t token = likeliest(document);
      if (token == ByteTokenizer::kEnd) break;
      generated.push_back(token);
      document.push_back(token);
    }
    return generated;
  }

  ByteTokenizer tokenizer_;
  MadeUpNeighbours fetcher_;
  RetroModel model_;
  GeneratorOptions options_;
};

TEST_F(GeneratorTest, GreedyEqualsTheUncachedModelForPromptsOfAnyLength) {
  std::vector<std::vector<int32_t>> prompts;
  for (const int64_t length :
       {int64_t{0}, int64_t{1}, kChunk - 1, kChunk, kChunk + 1, 2 * kChunk + 2}) {
    prompts.push_back(random_document(length, 30 + static_cast<uint32_t>(length)));
  }
  Generator generator(model_, options_);
  const auto generations = generator.generate(prompts, greedy(2 * kChunk + 1));
  for (size_t row = 0; row < prompts.size(); ++row) {
    EXPECT_EQ(generations[row].tokens, uncached_greedy(prompts[row], 2 * kChunk + 1)) << row;
  }
}

TEST_F(GeneratorTest, LogProbabilitiesAreTheModels) {
  const auto prompt = random_document(3, 1);
  Generator generator(model_, options_);
  SampleConfig config = greedy(6);
  config.temperature = 1.3;
  config.top_p = 0.9;
  const Generation generation = generator.generate({prompt}, config).front();
  std::vector<int32_t> document = prompt;
  for (size_t i = 0; i < generation.tokens.size(); ++i) {
    const at::Tensor log_softmax =
        at::log_softmax(full_logits(model_, stream_of(document), &fetcher_, 2)[-1], 0);
    EXPECT_NEAR(generation.log_probabilities[i], log_softmax[generation.tokens[i]].item<double>(),
                1e-3)
        << i;
    document.push_back(generation.tokens[i]);
  }
}

TEST_F(GeneratorTest, TheEndOfTheDocumentEndsIt) {
  {
    const at::NoGradGuard no_grad;
    model_->output_weight().zero_();
  }
  Generator generator(model_, options_);
  // All logits are equal: the lowest id, 0, wins until max_tokens.
  const Generation endless = generator.generate({{}}, greedy(5)).front();
  EXPECT_EQ(endless.tokens, (std::vector<int32_t>(5, 0)));
  EXPECT_FALSE(endless.reached_end_of_document);
  SampleConfig config = greedy(2000);
  config.temperature = 1;
  config.top_p = 1;
  const Generation ended = generator.generate({{'a'}}, config).front();
  // Each draw ends it with probability 1/258: 2,000 draws without an end have probability 4e-4, and
  // the seed is fixed.
  EXPECT_TRUE(ended.reached_end_of_document);
  EXPECT_LT(ended.tokens.size(), 2000u);
  for (const int32_t token : ended.tokens) EXPECT_NE(token, ByteTokenizer::kEnd);
}

TEST_F(GeneratorTest, ARowDoesNotDependOnTheOthers) {
  SampleConfig config = greedy(3 * kChunk);
  config.temperature = 1.0;
  config.top_p = 0.95;
  const auto a = random_document(kChunk + 1, 40);
  const auto b = random_document(2, 41);
  Generator generator(model_, options_);
  const auto alone = generator.generate({a}, config);
  const auto together = generator.generate({a, b, a}, config);
  EXPECT_EQ(alone[0].tokens, together[0].tokens);
  EXPECT_NE(together[0].tokens, together[2].tokens);
  config.seed = 2;
  EXPECT_NE(generator.generate({a}, config)[0].tokens, alone[0].tokens);
}

TEST_F(GeneratorTest, EventsAddUpToTheResult) {
  SampleConfig config = greedy(2 * kChunk + 1);
  config.temperature = 2.0;
  config.top_p = 1.0;
  std::string text;
  std::vector<int32_t> tokens;
  std::vector<int64_t> chunks;
  GenerationEvents events;
  events.on_token = [&](int64_t, int32_t token, const std::string& part) {
    tokens.push_back(token);
    text += part;
    EXPECT_LE(text.size(), 4 * tokens.size());
  };
  events.on_chunk = [&](int64_t, const ChunkView& view) { chunks.push_back(view.chunk); };
  Generator generator(model_, options_);
  const Generation generation =
      generator.generate({random_document(kChunk + 2, 50)}, config, events).front();
  EXPECT_EQ(text, generation.text);
  EXPECT_EQ(text, replace_broken_utf8(tokenizer_.decode(generation.tokens)));
  EXPECT_EQ(first_invalid_utf8(text), -1);
  const auto total = static_cast<int64_t>(kChunk + 2 + generation.tokens.size());
  EXPECT_EQ(static_cast<int64_t>(chunks.size()), (total + kChunk - 1) / kChunk);
  for (size_t c = 0; c < chunks.size(); ++c) EXPECT_EQ(chunks[c], static_cast<int64_t>(c));
}

TEST_F(GeneratorTest, ChunksShowTheNeighboursOfTheChunkBefore) {
  fetcher_.always_all = true;
  const auto prompt = random_document(2 * kChunk + 1, 60);
  Generator generator(model_, options_);
  const Generation generation = generator.generate({prompt}, greedy(kChunk + 1)).front();
  std::vector<int32_t> document = prompt;
  document.insert(document.end(), generation.tokens.begin(), generation.tokens.end());
  ASSERT_EQ(generation.chunks.size(), (document.size() + kChunk - 1) / kChunk);
  EXPECT_TRUE(generation.chunks[0].neighbours.empty());
  EXPECT_EQ(generation.chunks[0].num_prompt_tokens, kChunk);
  EXPECT_EQ(generation.chunks[2].num_prompt_tokens, 1);
  for (size_t c = 0; c < generation.chunks.size(); ++c) {
    const ChunkView& view = generation.chunks[c];
    const auto begin = document.begin() + static_cast<int64_t>(c) * kChunk;
    const auto length = std::min<int64_t>(kChunk, document.end() - begin);
    EXPECT_EQ(view.tokens, std::vector<int32_t>(begin, begin + length));
    if (c == 0) continue;
    const auto expected = fetcher_.neighbours_of({begin - kChunk, begin}, 2);
    ASSERT_EQ(view.neighbours.size(), expected.size());
    for (size_t rank = 0; rank < expected.size(); ++rank) {
      EXPECT_EQ(view.neighbours[rank].value_R, expected[rank].value_R);
      EXPECT_EQ(view.neighbours[rank].title, expected[rank].title);
      EXPECT_EQ(view.neighbour_runs[rank].size(), static_cast<size_t>(2 * kChunk));
    }
  }
}

TEST(ChunkViewTest, RunsAreThoseOfBothSides) {
  FetchedNeighbour first;
  first.value_R = {5, 6, 7, -1, -1, -1, -1, -1};
  FetchedNeighbour second;
  second.value_R = {9, 9, 6, 7, 8, 9, 9, 9};
  const ChunkView view = make_chunk_view(3, std::vector<int32_t>{4, 6, 7, 8}, {first, second});
  EXPECT_EQ(view.chunk, 3);
  EXPECT_EQ(view.token_runs, (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(view.neighbour_runs[0], (std::vector<int32_t>{0, 1, 2, 0, 0, 0, 0, 0}));
  EXPECT_EQ(view.neighbour_runs[1], (std::vector<int32_t>{0, 0, 1, 2, 3, 0, 0, 0}));
}

TEST_F(GeneratorTest, GenerationGoesOnBeyondTheWindow) {
  options_.window_length = 2 * kChunk;
  Generator generator(model_, options_);
  SampleConfig config = greedy(5 * kChunk);
  config.temperature = 1;
  const Generation generation =
      generator.generate({random_document(3 * kChunk, 70)}, config).front();
  EXPECT_TRUE(generation.reached_end_of_document || generation.tokens.size() == 5 * kChunk);
}

TEST_F(GeneratorTest, BeamSearchFindsTheBestOfAllContinuations) {
  // Two steps over a vocabulary of 258 with 258 beams lose nothing: equal to trying all pairs.
  const auto prompt = random_document(kChunk - 1, 80);
  const at::Tensor first =
      at::log_softmax(full_logits(model_, stream_of(prompt), &fetcher_, 2)[-1].to(at::kDouble), 0);
  double best = first[ByteTokenizer::kEnd].item<double>();
  std::vector<int32_t> best_tokens;
  for (int32_t a = 0; a < ByteTokenizer::kVocabulary; ++a) {
    if (a == ByteTokenizer::kEnd) continue;
    std::vector<int32_t> document = prompt;
    document.push_back(a);
    const at::Tensor second = at::log_softmax(
        full_logits(model_, stream_of(document), &fetcher_, 2)[-1].to(at::kDouble), 0);
    const auto b = second.argmax().item<int64_t>();
    const double sum = (first[a] + second[b]).item<double>() / 2;
    if (sum > best) {
      best = sum;
      best_tokens = {a};
      if (b != ByteTokenizer::kEnd) best_tokens.push_back(static_cast<int32_t>(b));
    }
  }
  SampleConfig config = greedy(2);
  config.beams = ByteTokenizer::kVocabulary;
  Generator generator(model_, options_);
  EXPECT_EQ(generator.generate({prompt}, config).front().tokens, best_tokens);
}

TEST_F(GeneratorTest, MoreBeamsAreNeverLessLikely) {
  const auto prompt = random_document(2, 81);
  Generator generator(model_, options_);
  SampleConfig config = greedy(3 * kChunk);
  config.length_penalty = 0;
  const auto sum_of = [](const Generation& generation) {
    double sum = 0;
    for (const double log_probability : generation.log_probabilities) sum += log_probability;
    return sum;
  };
  const Generation one = generator.generate({prompt}, config).front();
  config.beams = 4;
  const Generation four = generator.generate({prompt}, config).front();
  EXPECT_GE(sum_of(four), sum_of(one) - 1e-6);
  EXPECT_EQ(four.chunks.size(), (2 + four.tokens.size() + kChunk - 1) / kChunk);
}

TEST_F(GeneratorTest, AForeignTokenizerIsRefused) {
  ModelConfig config = tiny_config();
  config.vocabulary = 100;
  EXPECT_THROW(Generator(tiny_model(config), options_), Error);
}

}  // namespace
}  // namespace retro
