#include "retro/embed/hashed_embedder.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"

namespace retro {
namespace {

struct Embedded {
  std::vector<float> keys;
  std::vector<uint8_t> has_key;
};

Embedded embed(HashedEmbedder& embedder, const std::vector<std::string>& texts) {
  Embedded result{std::vector<float>(texts.size() * static_cast<size_t>(embedder.key_width()), 7),
                  std::vector<uint8_t>(texts.size(), 7)};
  embedder.embed(texts, result.keys, result.has_key);
  return result;
}

std::vector<float> key_of(const std::string& text, int64_t width = 64) {
  HashedEmbedder embedder(width);
  return embed(embedder, {text}).keys;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

TEST(HashedEmbedder, KeysHaveUnitNorm) {
  const auto key = key_of("In the beginning God created the heaven and the earth.");
  EXPECT_NEAR(dot(key, key), 1.0, 1e-6);
}

TEST(HashedEmbedder, OneWordIsOneSignedFeature) {
  const auto key = key_of("word");
  int64_t nonzero = 0;
  for (const float value : key) {
    if (value != 0) {
      ++nonzero;
      EXPECT_EQ(std::abs(value), 1.0F);
    }
  }
  EXPECT_EQ(nonzero, 1);
}

TEST(HashedEmbedder, IgnoresCaseAndWhitespaceButNotOrder) {
  EXPECT_EQ(key_of("The Cat"), key_of("the\n\t cat"));
  EXPECT_NE(key_of("the cat"), key_of("cat the"));
  EXPECT_NE(key_of("ab c"), key_of("a bc"));
}

TEST(HashedEmbedder, SharedWordsAreNearer) {
  const auto query = key_of("the cat sat on the mat", 256);
  EXPECT_GT(dot(query, key_of("a cat sat on a mat", 256)),
            dot(query, key_of("stock markets fell sharply today", 256)) + 0.2);
}

TEST(HashedEmbedder, SameKeyAloneAndInABatch) {
  HashedEmbedder embedder(32);
  const auto batch = embed(embedder, {"first text", "", "second, longer text!", "first text"});
  EXPECT_EQ(std::vector<float>(batch.keys.begin() + 64, batch.keys.begin() + 96),
            key_of("second, longer text!", 32));
  EXPECT_EQ(std::vector<float>(batch.keys.begin(), batch.keys.begin() + 32),
            std::vector<float>(batch.keys.begin() + 96, batch.keys.end()));
}

TEST(HashedEmbedder, TextWithoutAWordHasNoKey) {
  HashedEmbedder embedder(8);
  const auto result = embed(embedder, {"", " \n\t", "\x01\x7F", "\xEF\xBF\xBD \xEF\xBF\xBD", "."});
  EXPECT_EQ(result.has_key, (std::vector<uint8_t>{0, 0, 0, 0, 1}));
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(result.keys[i], 0.0F);
}

TEST(HashedEmbedder, ReplacementCharactersSeparateNothingElse) {
  EXPECT_EQ(key_of("\xEF\xBF\xBDword"), key_of("word"));
  EXPECT_EQ(key_of("caf\xC3\xA9"), key_of("caf\xC3\xA9\xEF\xBF\xBD"));
}

TEST(HashedEmbedder, CountsPieces) {
  HashedEmbedder embedder(8);
  embed(embedder, {"two words", "and three more.", " "});
  EXPECT_EQ(embedder.pieces_read(), 2 + 4);
}

TEST(HashedEmbedder, IdentityNamesTheWidth) {
  EXPECT_NE(HashedEmbedder(8).identity(), HashedEmbedder(16).identity());
}

TEST(HashedEmbedder, RefusesWrongSizes) {
  EXPECT_THROW(HashedEmbedder(0), Error);
  HashedEmbedder embedder(8);
  std::vector<float> keys(7);
  std::vector<uint8_t> has_key(1);
  EXPECT_THROW(embedder.embed(std::vector<std::string>{"a"}, keys, has_key), Error);
}

}  // namespace
}  // namespace retro
