// The neighbour encoder: where it takes its context from, how often it runs, the distances of what
// reads it.
#include "model_test_support.h"

namespace retro::testing {
namespace {

constexpr Precision kPrecision = Precision::kFloat32;

class Encoder : public ::testing::Test {
 protected:
  /// H of the first retro layer (layer 1): after its self-attention, before its CCA.
  torch::Tensor context_stream() {
    const auto& layers = model_->decoder->layers;
    torch::Tensor stream = model_->decoder->embed(input_.tokens_BN);
    stream = layers[0]->add_self_attention(stream, {}, kPrecision);
    stream = layers[0]->add_feed_forward(stream, kPrecision);
    return layers[1]->add_self_attention(stream, {}, kPrecision);
  }

  torch::Tensor encode(const torch::Tensor& stream_BND) {
    const int64_t m = config_.chunk_length;
    const int64_t chunks = input_.neighbours_BLKR.size(1);
    const ChunkContext context{stream_BND.slice(1, 0, chunks * m).reshape({-1, m, config_.width}),
                               {}};
    return model_->encoder->forward(input_.neighbours_BLKR.flatten(0, 1), context,
                                    model_->decoder->embedding_weight(), kPrecision);
  }

  ModelConfig config_ = small_config();
  RetroModel model_ = random_model(config_);
  ModelInput input_ = random_input(config_, 1, 13, 2);
};

/// The parts in METHOD's order, the encoder run once on the H of layer 1 and read by layers 1 and
/// 2: the model's logits.
TEST_F(Encoder, RunsOnceAtTheFirstRetroLayer) {
  torch::Tensor stream = context_stream();
  const int64_t chunks = input_.neighbours_BLKR.size(1);
  EncodedNeighbours encoded;
  encoded.encoded_BLTE = encode(stream).reshape({1, chunks, -1, config_.encoder.width});
  encoded.is_real_BLT = input_.neighbours_BLKR.ge(0).flatten(2);
  encoded.retrieved_length = 2 * config_.chunk_length;
  const auto& layers = model_->decoder->layers;
  stream = layers[1]->add_cross_attention(stream, encoded, kPrecision);
  stream = layers[1]->add_feed_forward(stream, kPrecision);
  stream = layers[2]->add_self_attention(stream, {}, kPrecision);
  stream = layers[2]->add_cross_attention(stream, encoded, kPrecision);
  stream = layers[2]->add_feed_forward(stream, kPrecision);
  const torch::Tensor logits =
      torch::matmul(model_->decoder->finish(stream), model_->output_weight().t());
  EXPECT_LT(largest_difference(model_->logits(input_), logits), kFloat64Slack);
}

/// It must not be conditioned on token embeddings: layer 0 and the self-attention of layer 1
/// matter, what is behind does not.
TEST_F(Encoder, IsConditionedOnTheStreamNotOnTheEmbeddings) {
  const torch::Tensor sum = encode(context_stream()).square().sum();
  const auto matters = [&](const std::string& name) {
    return gradient(model_, sum, name).ne(0).any().item<bool>();
  };
  EXPECT_TRUE(matters("decoder.layers.0.self_attention.value.weight"));
  EXPECT_TRUE(matters("decoder.layers.0.feed_forward.down.weight"));
  EXPECT_TRUE(matters("decoder.layers.1.self_attention.output.weight"));
  EXPECT_FALSE(matters("decoder.layers.1.cross_attention.output.weight"));
  EXPECT_FALSE(matters("decoder.layers.1.feed_forward.down.weight"));
}

/// Each neighbour is read by itself, and against its own chunk.
TEST_F(Encoder, NeighboursDoNotSeeEachOther) {
  const torch::Tensor stream = context_stream();
  const torch::Tensor before = encode(stream);
  input_.neighbours_BLKR = input_.neighbours_BLKR.clone();
  input_.neighbours_BLKR.select(1, 1).select(1, 0).fill_(3);
  const torch::Tensor changed = (encode(stream) - before).abs().flatten(2).amax(2).gt(1e-6);
  for (int64_t chunk = 0; chunk < changed.size(0); ++chunk) {
    for (int64_t rank = 0; rank < changed.size(1); ++rank) {
      EXPECT_EQ(changed[chunk][rank].item<bool>(), chunk == 1 && rank == 0) << chunk << " " << rank;
    }
  }
}

TEST_F(Encoder, ChunkConditionsItsOwnNeighboursOnly) {
  torch::Tensor stream = context_stream().detach();
  const torch::Tensor before = encode(stream);
  stream = stream.clone();
  stream.slice(1, config_.chunk_length, 2 * config_.chunk_length) += 1.0;
  const torch::Tensor changed = (encode(stream) - before).abs().flatten(1).amax(1).gt(1e-6);
  EXPECT_TRUE(torch::equal(changed, torch::tensor({false, true, false})));
}

/// METHOD section 3's table for the paper's m = 64 and r = 128.
TEST(CrossAttentionDistances, RunFromMinus64To126) {
  const DistanceRange range = cross_attention_distances(64, 128);
  EXPECT_EQ(range.first, -64);
  EXPECT_EQ(range.end() - 1, 126);
}

/// One attending row by hand: each of its scores uses the distance row i - position i' + m - 1, i
/// counted from the last token of the chunk, i' from the start of its own neighbour.
TEST(CrossAttentionDistances, RowsAndPositionsStandWhereTheTableSays) {
  const ModelConfig config = small_config();
  RetroModel model = random_model(config);
  const int64_t m = config.chunk_length, r = 2 * m, k = 2, heads = config.heads,
                width = config.head_width;
  const DecoderBlockImpl& block = *model->decoder->layers[1];
  const AttentionImpl& attention = *block.cross_attention;
  const torch::Tensor stream = torch::randn({1, 3 * m, config.width}, torch::kDouble);
  EncodedNeighbours encoded;
  encoded.retrieved_length = r;
  encoded.encoded_BLTE = torch::randn({1, 3, k * r, config.encoder.width}, torch::kDouble);
  encoded.is_real_BLT = torch::ones({1, 3, k * r}, torch::kBool);
  const torch::Tensor update = block.add_cross_attention(stream, encoded, kPrecision) - stream;
  const torch::Tensor query_NHA = attention.project_query(attention.normed(stream), kPrecision)[0];
  const torch::Tensor relative_weight =
      parameter(model, "decoder.layers.1.cross_attention.relative.weight");
  for (const int64_t position : {m - 1, m, 2 * m - 2, 2 * m - 1, 3 * m - 1}) {
    const int64_t chunk = (position - (m - 1)) / m, row = (position - (m - 1)) % m;
    const torch::Tensor key_THA = attention.project_key(encoded.encoded_BLTE[0][chunk], kPrecision);
    const torch::Tensor value_THA =
        attention.project_value(encoded.encoded_BLTE[0][chunk], kPrecision);
    torch::Tensor score_HT = torch::empty({heads, k * r}, torch::kDouble);
    for (int64_t t = 0; t < k * r; ++t) {
      const auto distance = static_cast<double>(row - t % r + m - 1);
      torch::Tensor features = torch::empty({config.width}, torch::kDouble);
      for (int64_t j = 0; j < config.width / 2; ++j) {
        const double angle = distance * std::pow(10000.0, -2.0 * static_cast<double>(j) /
                                                              static_cast<double>(config.width));
        features[j] = std::sin(angle);
        features[j + config.width / 2] = std::cos(angle);
      }
      const torch::Tensor relative_HA = relative_weight.matmul(features).view({heads, width});
      const torch::Tensor content =
          ((query_NHA[position] + attention.content_bias) * key_THA[t]).sum(-1);
      const torch::Tensor place =
          ((query_NHA[position] + attention.position_bias) * relative_HA).sum(-1);
      score_HT.select(1, t).copy_((content + place) / std::sqrt(static_cast<double>(width)));
    }
    const torch::Tensor attended = torch::einsum("ht,tha->ha", {score_HT.softmax(1), value_THA});
    const torch::Tensor expected = attention.project_output(attended, kPrecision);
    EXPECT_LT(largest_difference(update[0][position], expected), kFloat64Slack) << position;
  }
}

}  // namespace
}  // namespace retro::testing
