#include <gmock/gmock.h>

#include "retro/core/error.h"
#include "retro/embed/bert_embedder.h"

#include "bert_test_support.h"

namespace retro::testing {
namespace {

TEST(MakeEmbedder, HashedByName) {
  EmbedConfig config;
  config.model = "hashed:48";
  EXPECT_EQ(make_embedder(config)->key_width(), 48);
}

TEST(MakeEmbedder, BertByDirectory) {
  EmbedConfig config = float32_config();
  config.model = kRandomBert.string();
  EXPECT_EQ(make_embedder(config)->key_width(), 44);
}

TEST(MakeEmbedder, WrongNamesAreRefused) {
  for (const char* model : {"", "hashed:", "hashed:0", "hashed:12x", "/no/such/directory"}) {
    EmbedConfig config = float32_config();
    config.model = model;
    EXPECT_THROW(make_embedder(config), Error) << model;
  }
}

}  // namespace
}  // namespace retro::testing
