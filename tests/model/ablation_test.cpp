// Every ablation key changes what it names, and nothing else.
#include "retro/core/error.h"

#include "model_test_support.h"

namespace retro::testing {
namespace {

bool has_parameter(const RetroModel& model, const std::string& name) {
  return model->named_parameters().contains(name);
}

TEST(Ablation, WithoutQueryConditioningTheEncoderDoesNotReadTheDecoder) {
  ModelConfig config = small_config();
  config.encoder.query_conditioning = false;
  RetroModel model = random_model(config);
  EXPECT_FALSE(has_parameter(model, "encoder.layers.0.cross_attention.key.weight"));
  const ModelInput input = random_input(config, 1, 12, 2);
  const torch::Tensor ids = input.neighbours_BLKR.flatten(0, 1);
  const auto encode = [&](double value) {
    const ChunkContext context{
        torch::full({3, config.chunk_length, config.width}, value, torch::kDouble), {}};
    return model->encoder->forward(ids, context, model->decoder->embedding_weight(),
                                   Precision::kFloat32);
  };
  EXPECT_TRUE(torch::equal(encode(0.5), encode(-2.0)));
}

TEST(Ablation, WithoutCcaPositionsTheRelativeTableIsNotRead) {
  ModelConfig config = small_config();
  RetroModel with = random_model(config);
  config.cca_positions = false;
  RetroModel without = random_model(config);
  const ModelInput input = random_input(config, 1, 12, 2);
  EXPECT_GT(largest_difference(with->logits(input), without->logits(input)), 1e-3);
  const torch::Tensor logits = without->logits(input);
  for (const std::string part : {"relative.weight", "position_bias"}) {
    const std::string name = "decoder.layers.1.cross_attention." + part;
    EXPECT_TRUE(gradient(without, logits.square().sum(), name).eq(0).all().item<bool>()) << name;
    EXPECT_TRUE(gradient(with, with->logits(input).square().sum(), name).ne(0).any().item<bool>())
        << name;
  }
}

/// Which retrieved positions move any logit, for the four positions of N and the four of F.
std::vector<bool> visible_positions(const std::string& part) {
  ModelConfig config = small_config();
  config.retrieved_part = part;
  RetroModel model = random_model(config);
  const ModelInput input = numbered_input(config, 2 * config.chunk_length, 1);
  const torch::Tensor grad =
      gradient(model, model->logits(input).square().sum(), "encoder.embed.weight");
  std::vector<bool> visible;
  for (int64_t position = 0; position < 2 * config.chunk_length; ++position) {
    visible.push_back(grad[position].ne(0).any().item<bool>());
  }
  return visible;
}

TEST(Ablation, RetrievedPartHidesTheOther) {
  EXPECT_EQ(visible_positions("both"), (std::vector<bool>{1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(visible_positions("neighbour"), (std::vector<bool>{1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(visible_positions("continuation"), (std::vector<bool>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(Ablation, RetrievedPartLeavesTheInputAsItIs) {
  ModelConfig config = small_config();
  config.retrieved_part = "continuation";
  RetroModel model = random_model(config);
  const ModelInput input = random_input(config, 1, 12, 2);
  const torch::Tensor before = input.neighbours_BLKR.clone();
  model->logits(input);
  EXPECT_TRUE(torch::equal(input.neighbours_BLKR, before));
}

TEST(Ablation, SharedEmbeddingIsReadByBoth) {
  ModelConfig config = small_config();
  config.encoder.width = config.width;
  config.share_embeddings = true;
  RetroModel model = random_model(config);
  EXPECT_FALSE(has_parameter(model, "encoder.embed.weight"));
  ModelInput input = numbered_input(config, 12, 1);
  input.neighbours_BLKR = input.neighbours_BLKR + 50;  // ids that the decoder does not see
  const torch::Tensor grad =
      gradient(model, model->logits(input).square().sum(), "decoder.embed.weight");
  EXPECT_TRUE(grad[3].ne(0).any().item<bool>());
  EXPECT_TRUE(grad[55].ne(0).any().item<bool>());
  EXPECT_TRUE(grad[40].eq(0).all().item<bool>());
}

TEST(Ablation, TiedOutputIsTheEmbedding) {
  ModelConfig config = small_config();
  config.tie_output = true;
  RetroModel model = random_model(config);
  EXPECT_FALSE(has_parameter(model, "decoder.output.weight"));
  EXPECT_TRUE(model->output_weight().is_same(parameter(model, "decoder.embed.weight")));
}

TEST(Ablation, CcaLayersAndEncoderDepth) {
  ModelConfig config = small_config();
  config.cca_layers = {0, 1, 2};
  config.encoder.layers = 3;
  config.encoder.cross_attention_layers = {0, 2};
  RetroModel model = random_model(config);
  for (const std::string layer : {"0", "1", "2"}) {
    EXPECT_TRUE(has_parameter(model, "decoder.layers." + layer + ".cross_attention.query.weight"));
    EXPECT_EQ(has_parameter(model, "encoder.layers." + layer + ".cross_attention.query.weight"),
              layer != "1");
  }
}

/// k is free: a model takes any number of neighbours, in training and in evaluation.
TEST(Ablation, AnyNumberOfNeighbours) {
  const ModelConfig config = small_config();
  RetroModel model = random_model(config);
  for (const int64_t k : {1, 2, 7}) {
    EXPECT_TRUE(model->logits(random_input(config, 1, 9, k)).isfinite().all().item<bool>()) << k;
  }
}

class Documents : public ::testing::Test {
 protected:
  Documents() {
    config_.attend_across_documents = false;
    model_ = random_model(config_);
    input_ = numbered_input(config_, 12, 1);
    input_.document_BN = torch::tensor({0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}).unsqueeze(0);
  }
  ModelConfig config_ = small_config();
  RetroModel model_{nullptr};
  ModelInput input_;
};

TEST_F(Documents, TokensOfAnotherDocumentAreNotSeen) {
  const torch::Tensor grad =
      gradient(model_, probe(model_->logits(input_), 11), "decoder.embed.weight");
  EXPECT_TRUE(grad.slice(0, 0, 4).eq(0).all().item<bool>());
  for (int64_t token = 4; token < 12; ++token)
    EXPECT_TRUE(grad[token].ne(0).any().item<bool>()) << token;
}

/// Chunk 0 belongs to document 0: its neighbours serve its own last token and no row of document 1.
TEST_F(Documents, NeighboursOfAnotherDocumentsChunkAreNotRead) {
  const int64_t r = 2 * config_.chunk_length;
  const torch::Tensor logits = model_->logits(input_);
  const auto reads_chunk_0 = [&](int64_t position) {
    const torch::Tensor grad = gradient(model_, probe(logits, position), "encoder.embed.weight");
    return grad.slice(0, 0, r).ne(0).any().item<bool>();
  };
  EXPECT_TRUE(reads_chunk_0(3));
  for (int64_t position = 4; position < 12; ++position)
    EXPECT_FALSE(reads_chunk_0(position)) << position;
}

TEST_F(Documents, OneDocumentIsAsIfTheyWereSeen) {
  input_.document_BN = torch::full({1, 12}, 5, torch::kLong);
  ModelConfig open = config_;
  open.attend_across_documents = true;
  EXPECT_LT(largest_difference(model_->logits(input_), random_model(open)->logits(input_)),
            kFloat64Slack);
}

TEST_F(Documents, AreNeeded) {
  input_.document_BN = torch::Tensor();
  EXPECT_THROW(model_->logits(input_), Error);
}

}  // namespace
}  // namespace retro::testing
