// GGUF files of architecture llama: how their options are read, and files made to do harm.
#include "retro/model/gguf_import.h"

#include <cstring>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/model/carried_keys.h"

namespace retro::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

template <class T>
std::string raw_bytes(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::string raw_text(const std::string& value) { return raw_bytes(uint64_t{value.size()}) + value; }

// Values with the number of their type before them.
std::string typed(uint64_t number) { return raw_bytes(uint32_t{10}) + raw_bytes(number); }
std::string typed(float number) { return raw_bytes(uint32_t{6}) + raw_bytes(number); }
std::string typed(const char* text) { return raw_bytes(uint32_t{8}) + raw_text(text); }

/// A decoder of one layer, width 8, two heads of 4, six pieces, every weight 0.
class GgufFile {
 public:
  std::map<std::string, std::string> keys = {
      {"general.architecture", typed("llama")},
      {"llama.embedding_length", typed(uint64_t{8})},
      {"llama.block_count", typed(uint64_t{1})},
      {"llama.attention.head_count", typed(uint64_t{2})},
      {"llama.feed_forward_length", typed(uint64_t{10})},
      {"llama.attention.layer_norm_rms_epsilon", typed(1e-5F)},
      {"llama.context_length", typed(uint64_t{64})},
      {"tokenizer.ggml.eos_token_id", typed(uint64_t{5})},
  };
  /// Fastest dimension first, as in the file.
  std::map<std::string, std::vector<uint64_t>> shapes = {
      {"token_embd.weight", {8, 6}},        {"output_norm.weight", {8}},
      {"blk.0.attn_norm.weight", {8}},      {"blk.0.attn_q.weight", {8, 8}},
      {"blk.0.attn_k.weight", {8, 8}},      {"blk.0.attn_v.weight", {8, 8}},
      {"blk.0.attn_output.weight", {8, 8}}, {"blk.0.ffn_norm.weight", {8}},
      {"blk.0.ffn_gate.weight", {8, 10}},   {"blk.0.ffn_up.weight", {8, 10}},
      {"blk.0.ffn_down.weight", {10, 8}},
  };

  fs::path write() const {
    std::string bytes = "GGUF" + raw_bytes(uint32_t{3}) + raw_bytes(uint64_t{shapes.size()}) +
                        raw_bytes(uint64_t{keys.size()});
    for (const auto& [key, stored] : keys) bytes += raw_text(key) + stored;
    uint64_t offset = 0;
    for (const auto& [name, shape] : shapes) {
      bytes += raw_text(name) + raw_bytes(static_cast<uint32_t>(shape.size()));
      uint64_t size = sizeof(float);
      for (const uint64_t length : shape) {
        bytes += raw_bytes(length);
        size *= length;
      }
      bytes += raw_bytes(uint32_t{0}) + raw_bytes(offset);  // F32
      offset += aligned(size);
    }
    bytes.resize(aligned(bytes.size()) + offset);
    const fs::path path = fs::path(::testing::TempDir()) / "retro_import.gguf";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string refusal() const {
    try {
      (void)import_gguf(write());
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
      return error.what();
    }
    return "";
  }
  RotaryConfig rotary() const { return import_gguf(write())->config().block.rotary; }

 private:
  static uint64_t aligned(uint64_t size) { return (size + 31) / 32 * 32; }
};

TEST(GgufImport, ASmallDecoderIsRead) {
  const RetroModel model = import_gguf(GgufFile().write());
  EXPECT_EQ(model->config().vocabulary, 6);
  EXPECT_EQ(model->config().head_width, 4);
  EXPECT_TRUE(model->config().tie_output);
  EXPECT_EQ(carried_keys(GgufFile().write()), R"({"eos_token_id":5,"max_position_embeddings":64})");
}

TEST(GgufImport, AScalarForAnEmbeddingIsRefused) {
  GgufFile file;
  file.shapes["token_embd.weight"] = {};
  EXPECT_THAT(file.refusal(), HasSubstr("`token_embd.weight` has 0 dimensions, expected 2"));
  file.shapes["token_embd.weight"] = {48};
  EXPECT_THAT(file.refusal(), HasSubstr("has 1 dimensions"));
}

// A file of 3 KB must not make us take gigabytes.
TEST(GgufImport, SizesThatNoTensorHasAreRefused) {
  for (const char* key : {"llama.block_count", "llama.embedding_length",
                          "llama.attention.head_count", "llama.feed_forward_length",
                          "llama.attention.key_length", "llama.attention.head_count_kv"}) {
    for (const uint64_t size : {uint64_t{0}, uint64_t{1'000'000'000}, ~uint64_t{0}}) {
      GgufFile file;
      file.keys[key] = typed(size);
      EXPECT_NE(file.refusal(), "") << key << " " << size;
    }
  }
  GgufFile file;
  file.keys["llama.block_count"] = typed(uint64_t{1'000'000'000});
  EXPECT_THAT(file.refusal(), HasSubstr("1000000000 layers"));
  file = {};
  file.shapes["token_embd.weight"] = {0, uint64_t{1} << 40};
  EXPECT_THAT(file.refusal(), HasSubstr("describes at least"));
}

// llama.cpp takes a factor without a type for a linear one, whatever the key's age.
TEST(GgufImport, AFactorWithoutATypeIsLinear) {
  for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    GgufFile file;
    file.keys[key] = typed(4.0F);
    EXPECT_EQ(file.rotary().scaling, "linear") << key;
    EXPECT_EQ(file.rotary().factor, 4.0) << key;
    file.keys["llama.rope.scaling.type"] = typed("none");
    EXPECT_EQ(file.rotary().scaling, "none") << key;
  }
  EXPECT_EQ(GgufFile().rotary().scaling, "none");
  GgufFile file;
  file.keys["llama.rope.scaling.type"] = typed("linear");
  EXPECT_EQ(file.rotary().scaling, "none") << "a factor of 1";
  file.keys["llama.rope.scaling.type"] = typed("yarn");
  EXPECT_THAT(file.refusal(), HasSubstr("`llama.rope.scaling.factor` is 0"));
}

TEST(GgufImport, OptionsThatChangeWhatIsComputedAreRefused) {
  const std::map<std::string, std::string> changes = {
      {"llama.expert_count", typed(uint64_t{8})},
      {"llama.attention.sliding_window", typed(uint64_t{16})},
      {"llama.logit_scale", typed(0.5F)},
      {"llama.rope.scaling.attn_factor", typed(2.0F)},
      {"llama.rope.twist", typed(2.0F)},
  };
  for (const auto& [key, bytes_of_value] : changes) {
    GgufFile file;
    file.keys[key] = bytes_of_value;
    EXPECT_THAT(file.refusal(), AllOf(HasSubstr("`" + key), HasSubstr("not supported")));
  }
  GgufFile file;
  file.keys["llama.twist"] = typed(1.0F);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(file.refusal(), "");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("llama.twist"));
}

}  // namespace
}  // namespace retro::testing
