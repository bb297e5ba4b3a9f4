#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include "retro/core/error.h"
#include "retro/ops/rotary.h"

#include "decode_segment.h"

namespace retro {

namespace {

/// Ids [1, K, R] with -1 for padding and for the part that an ablation hides.
at::Tensor visible_ids(const ModelConfig& config, const std::vector<FetchedNeighbour>& neighbours) {
  const int64_t m = config.chunk_length;
  const auto count = static_cast<int64_t>(neighbours.size());
  const at::Tensor ids_XKR = at::full({1, count, 2 * m}, kMissing, at::kLong);
  for (int64_t rank = 0; rank < count; ++rank) {
    const std::vector<int32_t>& value_R = neighbours[static_cast<size_t>(rank)].value_R;
    RETRO_CHECK(static_cast<int64_t>(value_R.size()) == 2 * m,
                "retrieval: a value of {} tokens, expected {}", value_R.size(), 2 * m);
    ids_XKR[0][rank].copy_(at::tensor(at::ArrayRef<int32_t>(value_R), at::kInt));
  }
  if (config.retrieved_part == "neighbour") ids_XKR.narrow(2, m, m).fill_(kMissing);
  if (config.retrieved_part == "continuation") ids_XKR.narrow(2, 0, m).fill_(kMissing);
  return ids_XKR;
}

}  // namespace

CrossCache encode_neighbours(const RetroModelImpl& model,
                             const std::vector<FetchedNeighbour>& neighbours,
                             const at::Tensor& chunk_hidden_MD) {
  CrossCache cross;
  if (neighbours.empty()) return cross;
  const at::Tensor ids_XKR = visible_ids(model.config(), neighbours).to(chunk_hidden_MD.device());
  const ChunkContext context{chunk_hidden_MD.unsqueeze(0), {}};
  const at::Tensor encoded_TE =
      model.encoder
          ->forward(ids_XKR, context, model.decoder->embedding_weight(), kDecodingPrecision)
          .flatten(0, 2);
  cross.is_real_T = ids_XKR.flatten().ge(0);
  for (const auto& block : model.decoder->layers) {
    if (!block->is_retro_layer()) continue;
    at::Tensor key_THA = block->cross_attention->project_key(encoded_TE, kDecodingPrecision);
    if (RotaryTable* rotary = block->cross_rotary()) {
      const int64_t r = ids_XKR.size(2);
      const RotaryAngles angles = rotary->first(r, key_THA);
      key_THA =
          rotate_pairs(key_THA.unflatten(0, {-1, r}), angles.cos_NF, angles.sin_NF).flatten(0, 1);
    }
    cross.key_THA.push_back(key_THA);
    cross.value_THA.push_back(
        block->cross_attention->project_value(encoded_TE, kDecodingPrecision));
  }
  return cross;
}

}  // namespace retro
