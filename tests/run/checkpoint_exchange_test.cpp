// What `retro import` refuses: one line that names the thing, and nothing written.
#include "retro/run/checkpoint_exchange.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/json.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const fs::path kData = RETRO_TEST_DATA;

class ImportTest : public ::testing::Test {
 protected:
  ImportTest() : directory_(fs::temp_directory_path() / "retro_import_test") {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~ImportTest() override { fs::remove_all(directory_); }

  fs::path source(const std::string& name) const {
    fs::copy(kData / "hugging_face" / name, directory_ / "source");
    return directory_ / "source";
  }
  std::string refusal(const fs::path& from) const {
    const fs::path out = directory_ / "out";
    try {
      import_checkpoint(from, out);
    } catch (const Error& error) {
      EXPECT_FALSE(fs::exists(out));
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
      return error.what();
    }
    return "";
  }
  fs::path directory_;
};

TEST_F(ImportTest, AMissingShard) {
  const fs::path from = source("llama_shards");
  fs::remove(from / "model-00003-of-00005.safetensors");
  EXPECT_THAT(refusal(from),
              AllOf(HasSubstr("model-00003-of-00005.safetensors"), HasSubstr("missing")));
}

TEST_F(ImportTest, ATruncatedFile) {
  const fs::path file = directory_ / "half.gguf";
  fs::copy(kData / "gguf" / "blocks.gguf", file);
  fs::resize_file(file, fs::file_size(file) / 2);
  EXPECT_THAT(refusal(file), AllOf(HasSubstr("half.gguf"), HasSubstr("truncated")));
}

TEST_F(ImportTest, AnotherVocabularySizeThanTheWeights) {
  const fs::path from = source("llama");
  std::string config = read_file(from / "config.json");
  const std::string size = "\"vocab_size\": 96";
  const size_t at = config.find(size);
  ASSERT_NE(at, std::string::npos);
  write_file(from / "config.json", config.replace(at, size.size(), "\"vocab_size\": 95"));
  EXPECT_THAT(refusal(from), AllOf(HasSubstr("embed_tokens"), HasSubstr("[95, 24]")));
}

TEST_F(ImportTest, ATokenizerOfAnotherModel) {
  const fs::path from = source("llama");
  fs::copy(kData / "byte_bpe" / "tokenizer.json", from / "tokenizer.json");
  EXPECT_THAT(refusal(from),
              AllOf(HasSubstr("the weights know 96"), HasSubstr("different models")));
}

TEST_F(ImportTest, WhatIsNoCheckpoint) {
  std::ofstream(directory_ / "noise.gguf") << "noise";
  EXPECT_THAT(refusal(directory_ / "noise.gguf"), HasSubstr("neither"));
  EXPECT_THAT(refusal(directory_ / "nowhere"), HasSubstr("no such"));
}

TEST_F(ImportTest, AnExportRepeatsTheTokensAndTheLimitOfTheBase) {
  const fs::path from = source("llama");
  nlohmann::json base = read_json_file(from / "config.json");
  base["eos_token_id"] = {4, 5};
  write_json_file(from / "config.json", base);
  import_checkpoint(from, directory_ / "out");
  export_checkpoint(directory_ / "out", directory_ / "back");
  const auto again = read_json_file(directory_ / "back" / "config.json");
  for (const char* key : {"bos_token_id", "eos_token_id", "max_position_embeddings"})
    EXPECT_EQ(again.at(key), base.at(key)) << key;
}

TEST_F(ImportTest, WithoutATokenizerTheWeightsAreTaken) {
  const ImportSummary summary = import_checkpoint(source("llama_shards"), directory_ / "out");
  EXPECT_TRUE(summary.tokenizer.empty());
  EXPECT_TRUE(fs::exists(directory_ / "out" / "model.safetensors"));
}

}  // namespace
}  // namespace retro
