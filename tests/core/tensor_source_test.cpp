#include "retro/core/tensor_source.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/safetensors.h"

#include "core/test_support.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::ScratchDirectory;
using testing::spill;

const std::filesystem::path kGgufFolder = std::filesystem::path(RETRO_TEST_DATA) / "gguf";
const std::vector<float> kA = {1, 2, 3, 4, 5, 6};
const std::vector<uint16_t> kB = {0x3F80, 0xC000};  // bfloat16 1, -2

TensorView view_a() { return {"F32", {2, 3}, std::as_bytes(std::span(kA))}; }
TensorView view_b() { return {"BF16", {2}, std::as_bytes(std::span(kB))}; }

class TensorSourceTest : public ::testing::Test {
 protected:
  void write_shards() const {
    write_safetensors(scratch_ / "model-00001-of-00002.safetensors", {{"a", view_a()}});
    write_safetensors(scratch_ / "model-00002-of-00002.safetensors", {{"b", view_b()}});
  }
  void write_index(const std::string& weight_map) const {
    spill(scratch_ / "model.safetensors.index.json",
          R"({"metadata": {"total_size": 28}, "weight_map": )" + weight_map + "}");
  }
  void write_usual_index() const {
    write_index(
        R"({"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"})");
  }
  std::string refusal() const {
    return error_of([&] { TensorSource source(scratch_.path()); });
  }
  ScratchDirectory scratch_;
};

TEST_F(TensorSourceTest, ShardsReadAsOneFileWould) {
  write_shards();
  write_usual_index();
  const TensorSource shards(scratch_.path());
  EXPECT_EQ(shards.files().size(), 2U);
  EXPECT_EQ(shards.gguf(), nullptr);
  EXPECT_THAT(shards.tensor("a").shape, ElementsAre(2, 3));
  std::vector<float> values(2);
  shards.read("b", values);
  EXPECT_THAT(values, ElementsAre(1.0f, -2.0f));

  write_safetensors(scratch_ / "one.safetensors", {{"a", view_a()}, {"b", view_b()}});
  const TensorSource one(scratch_ / "one.safetensors");
  EXPECT_EQ(one.content_hash(), shards.content_hash());
  write_safetensors(scratch_ / "other.safetensors", {{"a", view_a()}});
  EXPECT_NE(TensorSource(scratch_ / "other.safetensors").content_hash(), one.content_hash());
}

TEST_F(TensorSourceTest, MovedSourcesKeepTheirViews) {
  write_shards();
  write_usual_index();
  TensorSource first(scratch_.path());
  const TensorSource second(std::move(first));
  std::vector<float> values(6);
  second.read("a", values);
  EXPECT_EQ(values, kA);
}

TEST_F(TensorSourceTest, Gguf) {
  const TensorSource source(kGgufFolder / "blocks.gguf");
  ASSERT_NE(source.gguf(), nullptr);
  EXPECT_EQ(source.gguf()->metadata()["general.architecture"], "test");
  EXPECT_TRUE(source.contains("q6_k"));
  EXPECT_THAT(source.files(), ElementsAre(kGgufFolder / "blocks.gguf"));
  std::vector<float> values(3);
  EXPECT_THAT(error_of([&] { source.read("q8_0", values); }),
              HasSubstr("tensor `q8_0`: 1088 bytes"));
  EXPECT_THAT(error_of([&] { (void)source.tensor("q6_kk"); }),
              HasSubstr("no tensor `q6_kk`; the nearest is `q6_k`"));
}

TEST_F(TensorSourceTest, Refusals) {
  EXPECT_THAT(error_of([&] { TensorSource source(scratch_ / "none"); }),
              HasSubstr("none: no such file or folder"));
  EXPECT_THAT(refusal(), HasSubstr("holds neither model.safetensors nor model.safetensors.index"));
  write_index("{}");
  EXPECT_THAT(refusal(), HasSubstr("`weight_map` lists no tensor"));
  write_index(R"({"a": "../secret"})");
  EXPECT_THAT(refusal(), HasSubstr("tensor `a` is in no file of this folder"));
  write_usual_index();
  EXPECT_THAT(refusal(),
              HasSubstr("the shard model-00001-of-00002.safetensors is missing (it holds `a`)"));
  write_shards();
  write_index(
      R"({"a": "model-00001-of-00002.safetensors", "c": "model-00001-of-00002.safetensors"})");
  EXPECT_THAT(refusal(), HasSubstr("no shard holds tensor `c`, model-00001-of-00002.safetensors"));
  write_usual_index();
  std::filesystem::copy_file(scratch_ / "model-00001-of-00002.safetensors",
                             scratch_ / "model-00002-of-00002.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(refusal(), HasSubstr("tensor `a` is in another shard too"));
}

}  // namespace
}  // namespace retro
