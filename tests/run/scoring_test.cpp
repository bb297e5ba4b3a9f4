#include "retro/run/scoring.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/json.h"

#include "data_layer/tiny_corpus.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using ::testing::HasSubstr;
using ::testing::Not;

/// Eight letters in two chunks of four, one nat each with retrieval off, half a nat with it on.
TextScore eight_letters(bool has_on) {
  TextScore score;
  score.scored.tokens = ByteTokenizer().encode("abcdefgh").ids;
  score.scored.nats_off.assign(8, 1.0);
  if (has_on) score.scored.nats_on.assign(8, 0.5);
  score.bytes.assign(8, 1);
  const std::span tokens(score.scored.tokens);
  score.scored.chunks = {make_chunk_view(0, tokens.first(4), {}),
                         make_chunk_view(1, tokens.last(4), {})};
  score.nats_off = 8;
  score.nats_on = has_on ? 4 : NAN;
  score.bits_per_byte_off = 1 / std::log(2.0);
  score.bits_per_byte_on = has_on ? 0.5 / std::log(2.0) : NAN;
  return score;
}

TEST(Scoring, EveryFigureOfOffAndOn) {
  const auto json = parse_json(score_json(eight_letters(true), ByteTokenizer()), "score");
  EXPECT_EQ(json["nats_on"], 4.0);
  EXPECT_EQ(json["chunks"][1]["nats_on"], 2.0);
  EXPECT_EQ(json["tokens"][7]["nats_on"], 0.5);
  EXPECT_THAT(format_score(eight_letters(true), ByteTokenizer(), true),
              HasSubstr("   1.000   0.500  +0.500  a\n"));
}

TEST(Scoring, WhereNothingIsRetrievedNothingIsSaidOfOn) {
  const auto json = parse_json(score_json(eight_letters(false), ByteTokenizer()), "score");
  EXPECT_EQ(json["nats_off"], 8.0);
  for (const char* key : {"nats_on", "bits_per_byte_on"}) EXPECT_TRUE(json[key].is_null()) << key;
  EXPECT_TRUE(json["chunks"][1]["nats_on"].is_null());
  EXPECT_TRUE(json["tokens"][7]["nats_on"].is_null());
  const std::string text = format_score(eight_letters(false), ByteTokenizer(), true);
  EXPECT_THAT(text, HasSubstr("bits per byte off 1.4427, on -, gain -"));
  EXPECT_THAT(text, HasSubstr("   1.000       -       -  a\n"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(Scoring, LastWordsWithoutRetrievalHaveNoFiguresOfOn) {
  const std::vector<LastWord> words = {{"cat", std::log(4.0), {}, true, {}}};
  const auto json = parse_json(last_words_json(words), "words");
  EXPECT_EQ(json["accuracy_off"], 1.0);
  for (const char* key : {"accuracy_on", "perplexity_on"}) EXPECT_TRUE(json[key].is_null()) << key;
  for (const char* key : {"nats_on", "is_right_on"})
    EXPECT_TRUE(json["words"][0][key].is_null()) << key;
  const std::string text = format_last_words(words);
  EXPECT_THAT(text, HasSubstr("accuracy          1.0000        -"));
  EXPECT_THAT(text, HasSubstr("perplexity          4.00        -"));
  const auto both = parse_json(last_words_json({{"cat", 1.0, 0.5, true, false}}), "words");
  EXPECT_EQ(both["accuracy_on"], 0.0);
  EXPECT_EQ(both["words"][0]["is_right_on"], false);
}

}  // namespace
}  // namespace retro
