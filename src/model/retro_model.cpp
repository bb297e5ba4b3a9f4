#include "retro/model/retro_model.h"

#include <ATen/core/grad_mode.h>

#include "retro/core/error.h"
#include "retro/model/decoder.h"
#include "retro/model/neighbour_encoder.h"
#include "retro/ops/linear.h"

#include "initial_weights.h"

namespace retro {
namespace {

ModelInput moved(const ModelInput& input, at::Device device) {
  const auto move = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(device, tensor.scalar_type(), /*non_blocking=*/true)
                            : tensor;
  };
  return {move(input.tokens_BN), move(input.real_BN), move(input.neighbours_BLKR),
          move(input.document_BN), move(input.frozen_BND)};
}

void check_input(const ModelInput& input, const ModelConfig& config) {
  RETRO_CHECK(input.tokens_BN.defined() && input.tokens_BN.dim() == 2 &&
                  input.tokens_BN.scalar_type() == at::kLong,
              "model input: tokens must be int64 [batch, positions]");
  if (!input.neighbours_BLKR.defined()) return;
  const int64_t chunks = input.tokens_BN.size(1) / config.chunk_length;
  const bool fits = input.neighbours_BLKR.dim() == 4 &&
                    input.neighbours_BLKR.size(0) == input.tokens_BN.size(0) &&
                    input.neighbours_BLKR.size(1) == chunks;
  RETRO_CHECK(fits,
              "model input: neighbours must be [{}, {}, k, r] for {} positions in chunks of {}",
              input.tokens_BN.size(0), chunks, input.tokens_BN.size(1), config.chunk_length);
}

/// Retrieved ids with the part that an ablation hides set to padding.
at::Tensor visible_neighbours(const at::Tensor& neighbours_BLKR, const ModelConfig& config) {
  if (config.retrieved_part == "both") return neighbours_BLKR;
  const int64_t m = config.chunk_length, r = neighbours_BLKR.size(3);
  at::Tensor visible = neighbours_BLKR.clone();
  visible
      .slice(3, config.retrieved_part == "neighbour" ? m : 0,
             config.retrieved_part == "neighbour" ? r : m)
      .fill_(-1);
  return visible;
}

/// Rows whose attending chunk is of their own document (attend_across_documents = false).
at::Tensor active_rows(const at::Tensor& document_BN, int64_t chunk_length) {
  const int64_t n = document_BN.size(1);
  const at::Tensor position = at::arange(n, document_BN.options());
  const at::Tensor chunk_start =
      at::floor_divide((position - (chunk_length - 1)).clamp_min(0), chunk_length) * chunk_length;
  return document_BN.eq(document_BN.index_select(1, chunk_start));
}

}  // namespace

RetroModelImpl::RetroModelImpl(const ModelConfig& config) : config_(config.resolved()) {
  const PositionTables tables = make_position_tables(config_);
  decoder = register_module("decoder", std::make_shared<DecoderImpl>(config_, tables));
  if (!config_.cca_layers.empty()) {
    encoder = register_module("encoder",
                              std::make_shared<NeighbourEncoderImpl>(config_, tables.distances));
  }
}

RetroModelImpl::RetroModelImpl(const ModelConfig& config, uint64_t seed) : RetroModelImpl(config) {
  draw_initial_weights(*this, config_, seed, [](const std::string&) { return true; });
}

SequenceMask RetroModelImpl::sequence_mask(const ModelInput& input) const {
  SequenceMask mask{input.real_BN, {}};
  if (config_.attend_across_documents) return mask;
  RETRO_CHECK(input.document_BN.defined(),
              "model input: documents are needed with attend_across_documents = false");
  mask.document_BN = input.document_BN;
  return mask;
}

at::Tensor RetroModelImpl::embedded(const ModelInput& input) const {
  at::Tensor positions_BN;
  if (decoder->has_learned_positions())
    positions_BN = count_real_positions(input.real_BN, input.tokens_BN);
  return as_activations(decoder->embed(input.tokens_BN, positions_BN), precision_);
}

// Parts are called again in backward where they are recomputed: they capture by value.
at::Tensor RetroModelImpl::add_self_attention(const std::shared_ptr<DecoderBlockImpl>& layer,
                                              const at::Tensor& stream_BND,
                                              const SequenceMask& mask) const {
  const auto part = [layer, mask, precision = precision_](const std::vector<at::Tensor>& inputs) {
    return layer->add_self_attention(inputs[0], mask, precision);
  };
  return run_part(recompute_, part, {stream_BND}, layer->self_attention->parameters());
}

at::Tensor RetroModelImpl::add_feed_forward(const std::shared_ptr<DecoderBlockImpl>& layer,
                                            const at::Tensor& stream_BND) const {
  const auto part = [layer, precision = precision_](const std::vector<at::Tensor>& inputs) {
    return layer->add_feed_forward(inputs[0], precision);
  };
  return run_part(recompute_, part, {stream_BND}, layer->feed_forward->parameters());
}

at::Tensor RetroModelImpl::frozen_stream(const ModelInput& given) {
  check_input(given, config_);
  const ModelInput input = moved(given, device());
  const at::NoGradGuard no_gradients;
  const SequenceMask mask = sequence_mask(input);
  at::Tensor stream_BND = embedded(input);
  for (const auto& layer : decoder->layers) {
    stream_BND = add_self_attention(layer, stream_BND, mask);
    if (layer->is_retro_layer()) break;
    stream_BND = add_feed_forward(layer, stream_BND);
  }
  return stream_BND;
}

at::Tensor RetroModelImpl::hidden(const ModelInput& given) {
  check_input(given, config_);
  const ModelInput input = moved(given, device());
  const at::Tensor& neighbours = input.neighbours_BLKR;
  const bool retrieves = encoder && neighbours.defined() && neighbours.numel() > 0;
  const SequenceMask mask = sequence_mask(input);
  EncodedNeighbours encoded;
  // Up to the first retro layer's self-attention a given stream replaces all work.
  bool is_given = retrieves && input.frozen_BND.defined();
  at::Tensor stream_BND = is_given ? as_activations(input.frozen_BND, precision_) : embedded(input);
  // Below the first retro layer a frozen base has no gradient: nothing is kept for one.
  const auto base_records = [&] {
    return at::GradMode::is_enabled() &&
           (base_hash_.empty() || !retrieves || encoded.encoded_BLTE.defined());
  };
  for (const auto& layer : decoder->layers) {
    if (!is_given) {
      const at::AutoGradMode mode(base_records());
      stream_BND = add_self_attention(layer, stream_BND, mask);
    }
    if (retrieves && layer->is_retro_layer()) {
      is_given = false;
      if (!encoded.encoded_BLTE.defined()) encoded = encode_neighbours(stream_BND, input);
      const auto read = [layer, encoded,
                         precision = precision_](const std::vector<at::Tensor>& inputs) {
        EncodedNeighbours what = encoded;
        what.encoded_BLTE = inputs[1];
        return layer->add_cross_attention(inputs[0], what, precision);
      };
      stream_BND = run_part(recompute_, read, {stream_BND, encoded.encoded_BLTE},
                            layer->cross_attention->parameters());
    }
    if (is_given) continue;
    const at::AutoGradMode mode(base_records());
    stream_BND = add_feed_forward(layer, stream_BND);
  }
  return decoder->finish(stream_BND);
}

EncodedNeighbours RetroModelImpl::encode_neighbours(const at::Tensor& stream_BND,
                                                    const ModelInput& input) const {
  const int64_t m = config_.chunk_length;
  const at::Tensor visible_BLKR = visible_neighbours(input.neighbours_BLKR, config_);
  const int64_t chunks = visible_BLKR.size(1), r = visible_BLKR.size(3);
  ChunkContext context;
  context.hidden_XMD = stream_BND.slice(1, 0, chunks * m).reshape({-1, m, stream_BND.size(2)});
  if (input.real_BN.defined())
    context.is_real_XM = input.real_BN.slice(1, 0, chunks * m).reshape({-1, m});
  EncodedNeighbours encoded;
  encoded.encoded_BLTE =
      encoder->forward(visible_BLKR.flatten(0, 1), context, decoder->embedding_weight(), precision_)
          .flatten(1, 2)
          .unflatten(0, {stream_BND.size(0), chunks});
  encoded.is_real_BLT = visible_BLKR.ge(0).flatten(2);
  encoded.retrieved_length = r;
  if (!config_.attend_across_documents)
    encoded.row_is_active_BN = active_rows(input.document_BN, m);
  return encoded;
}

at::Tensor RetroModelImpl::logits(const ModelInput& input) {
  return linear(hidden(input), output_weight(), precision_).to(output_weight().scalar_type());
}

at::Tensor RetroModelImpl::output_weight() const { return decoder->output_weight(); }

bool is_base_weight(std::string_view name) {
  return name.starts_with("decoder.") && name.find(".cross_attention.") == std::string_view::npos;
}

void RetroModelImpl::freeze_base(const std::string& base_hash) {
  RETRO_CHECK(!base_hash.empty(), "freezing a base: its hash is empty");
  base_hash_ = base_hash;
  for (const auto& layer : decoder->layers) layer->freeze_base();
  for (auto& item : named_parameters()) {
    if (is_base_weight(item.key())) item.value().set_requires_grad(false);
  }
}

void RetroModelImpl::pack_base(WeightFormat format) {
  base_format_ = format;
  for (const auto& layer : decoder->layers) num_packed_ += layer->pack_base(format);
}

std::string RetroModelImpl::base_format() const {
  if (!base_format_) return "float32";
  return *base_format_ == WeightFormat::kQ8_0 ? "q8_0" : "bfloat16";
}

void RetroModelImpl::set_precision(Precision precision) { precision_ = precision; }

void RetroModelImpl::set_recompute(Recompute recompute) {
  recompute_ = recompute;
  if (encoder) encoder->set_recompute(recompute);
}

int64_t RetroModelImpl::num_parameters() const {
  int64_t count = num_packed_;
  for (const at::Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

int64_t RetroModelImpl::num_trained_parameters() const {
  int64_t count = 0;
  for (const at::Tensor& parameter : parameters())
    count += parameter.requires_grad() ? parameter.numel() : 0;
  return count;
}

}  // namespace retro
