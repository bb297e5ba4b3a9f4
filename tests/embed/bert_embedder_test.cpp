#include "retro/embed/bert_embedder.h"

#include <gmock/gmock.h>

#include "retro/core/error.h"
#include "retro/embed/hashed_embedder.h"

#include "bert_test_support.h"

namespace retro::testing {
namespace {

/// METHOD section 2: float32 keys within 1e-5 of the reference, relative to the key's largest
/// element.
constexpr double kFloat32Bound = 1e-5;

/// The keys of `transformers` for the texts of `file`, all at once in batches of `batch_pieces`.
void expect_reference_keys(const std::filesystem::path& directory,
                           const std::filesystem::path& file, int64_t batch_pieces) {
  const ReferenceKeys reference(file);
  BertEmbedder embedder(directory, float32_config(batch_pieces));
  ASSERT_EQ(embedder.key_width(), reference.width);
  const Embedded result = embed_all(embedder, reference.texts);
  for (size_t t = 0; t < reference.texts.size(); ++t) {
    EXPECT_EQ(result.has_key[t], 1) << reference.texts[t];
    EXPECT_LT(relative_difference(key(result.keys_TQ, reference.width, t),
                                  key(reference.keys_TQ, reference.width, t)),
              kFloat32Bound)
        << reference.texts[t];
  }
}

TEST(BertEmbedder, RandomBertHasTheReferenceKeys) {
  for (const int64_t batch_pieces : {1, 30, 100000}) {
    expect_reference_keys(kRandomBert, kRandomBert / "keys.safetensors", batch_pieces);
  }
}

TEST(BertEmbedder, MiniLmHasTheReferenceKeys) {
  if (!std::filesystem::exists(kMiniLm))
    GTEST_SKIP() << kMiniLm << " is not there (tools/setup.sh)";
  expect_reference_keys(kMiniLm, kEmbedData / "minilm_keys.safetensors", 512);
}

TEST(BertEmbedder, KeyIsTheSameAloneAndInAnyBatch) {
  const ReferenceKeys reference(kRandomBert / "keys.safetensors");
  BertEmbedder embedder(kRandomBert, float32_config());
  std::vector<std::string> many;
  for (int copy = 0; copy < 9; ++copy) {
    many.insert(many.end(), reference.texts.begin(), reference.texts.end());
  }
  const Embedded together = embed_all(embedder, many);
  for (size_t t = 0; t < many.size(); ++t) {
    const Embedded alone = embed_all(embedder, {many[t]});
    EXPECT_LT(relative_difference(key(together.keys_TQ, reference.width, t), alone.keys_TQ),
              kFloat32Bound);
  }
}

TEST(BertEmbedder, LongTextIsTheWeightedMeanOfItsWindows) {
  BertEmbedder embedder(kRandomBert, float32_config());  // 24 positions: windows of 22 pieces
  const auto letters = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "b ";
    return text;
  };
  const Embedded result = embed_all(embedder, {letters(50), letters(22), letters(6)});
  const int64_t width = embedder.key_width();
  std::vector<float> expected;
  for (size_t q = 0; q < static_cast<size_t>(width); ++q) {
    expected.push_back(
        (44 * key(result.keys_TQ, width, 1)[q] + 6 * key(result.keys_TQ, width, 2)[q]) / 50);
  }
  EXPECT_LT(relative_difference(key(result.keys_TQ, width, 0), expected), kFloat32Bound);
}

TEST(BertEmbedder, TextWithoutAPieceHasNoKey) {
  BertEmbedder embedder(kRandomBert, float32_config());
  const Embedded result = embed_all(embedder, {"", "cat", " \n\t ", "\x01\x02"});
  EXPECT_THAT(result.has_key, ::testing::ElementsAre(0, 1, 0, 0));
  const int64_t width = embedder.key_width();
  for (const size_t empty : {0, 2, 3}) {
    EXPECT_THAT(key(result.keys_TQ, width, empty), ::testing::Each(0.0F));
  }
  const Embedded alone = embed_all(embedder, {"cat"});
  EXPECT_LT(relative_difference(key(result.keys_TQ, width, 1), alone.keys_TQ), kFloat32Bound);
}

TEST(BertEmbedder, NoTextsAreFine) {
  BertEmbedder embedder(kRandomBert, float32_config());
  EXPECT_TRUE(embed_all(embedder, {}).keys_TQ.empty());
}

TEST(BertEmbedder, CountsPiecesWithoutSpecials) {
  BertEmbedder embedder(kRandomBert, float32_config());
  embed_all(embedder, {"a b c", "", "cat"});  // "cat" is c ##a ##t
  EXPECT_EQ(embedder.pieces_read(), 6);
}

TEST(BertEmbedder, BuffersOfAnotherSizeAreRefused) {
  BertEmbedder embedder(kRandomBert, float32_config());
  const std::vector<std::string> texts = {"a"};
  std::vector<float> keys_TQ(43);
  std::vector<uint8_t> has_key(1);
  EXPECT_THROW(embedder.embed(texts, keys_TQ, has_key), Error);
}

TEST(BertEmbedder, IdentityNamesThePrecision) {
  const BertEmbedder float32(kRandomBert, float32_config());
  const BertEmbedder again(kRandomBert, float32_config(7));
  EXPECT_EQ(float32.identity(), again.identity());
  EXPECT_THAT(float32.identity(), ::testing::HasSubstr("float32"));
  EmbedConfig config;
  config.precision = "bfloat16";
  const BertEmbedder bfloat16(kRandomBert, config);
  EXPECT_NE(bfloat16.identity(), float32.identity());
  EXPECT_EQ(precision_of_keys(float32.identity()), "float32");
  EXPECT_EQ(precision_of_keys(bfloat16.identity()), "bfloat16");
  EXPECT_EQ(precision_of_keys(HashedEmbedder(8).identity()), "");
  EXPECT_EQ(precision_of_keys("bert-mean-510"), "");
}

/// bfloat16 keeps 8 bits: a single rounding errs by up to 2^-9, and they average out over products
/// and positions. On every CPU, with or without such products.
TEST(BertEmbedder, Bfloat16IsCloseToFloat32) {
  if (!std::filesystem::exists(kMiniLm))
    GTEST_SKIP() << kMiniLm << " is not there (tools/setup.sh)";
  const ReferenceKeys reference(kEmbedData / "minilm_keys.safetensors");
  EmbedConfig config;
  config.precision = "bfloat16";
  BertEmbedder embedder(kMiniLm, config);
  const Embedded result = embed_all(embedder, reference.texts);
  for (size_t t = 0; t < reference.texts.size(); ++t) {
    const auto actual = key(result.keys_TQ, reference.width, t);
    const auto expected = key(reference.keys_TQ, reference.width, t);
    EXPECT_LT(relative_difference(actual, expected), 0x1p-6) << reference.texts[t];
    EXPECT_GT(cosine(actual, expected), 1 - 1e-4) << reference.texts[t];
  }
}

}  // namespace
}  // namespace retro::testing
